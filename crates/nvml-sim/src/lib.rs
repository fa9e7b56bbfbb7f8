//! A simulated libnvidia-ml.so.1 with scripted GPUs and faults.
