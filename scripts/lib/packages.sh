# Debian packages, each with a path or a command that shows that it is there. One list, so that
# scripts/test and scripts/quickstart cannot drift apart.
# shellcheck shell=bash disable=SC2034

# To build: the plugin's bindings come from Slurm's headers through libclang.
readonly BUILD_PACKAGES=(
    gcc=cc
    libc6-dev=/usr/include/stdio.h
    libslurm-dev=/usr/include/slurm/spank.h
    libclang-dev='/usr/lib/llvm-*/lib/libclang*.so*'
)

# To run a cluster.
readonly CLUSTER_PACKAGES=(
    munge=/usr/sbin/munged
    slurmctld=/usr/sbin/slurmctld
    slurmd=/usr/sbin/slurmd
    slurm-client=sbatch
    util-linux=flock
    procps=ps
    jq=jq
)

# Only to test.
readonly TEST_PACKAGES=(
    shellcheck=shellcheck
    sqlite3=sqlite3
    strace=strace
    binutils=nm
)
