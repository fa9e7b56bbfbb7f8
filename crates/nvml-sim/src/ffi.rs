//! The caller's pointers, wrapped so that the bodies of the functions are safe code.
//!
//! The types are transparent: an argument of type `Out<T>` is a `T *` to C. Only a C caller makes them, by calling an
//! exported function, and with the call it vouches for the pointer as NVML's documentation asks: null, or valid
//! for the access that the function makes.
use std::ffi::{CStr, c_char, c_uint};
use std::ptr::NonNull;

use nvml_wrapper_sys::bindings as nv;

use crate::call::Answer;
use crate::scenario::Code;

/// A structure of numbers and arrays of numbers.
///
/// # Safety
/// All bytes zero must be a value of the type.
pub(crate) unsafe trait Plain {}

// SAFETY: numbers and arrays of numbers.
unsafe impl Plain for nv::nvmlGpuFabricInfo_t {}
// SAFETY: numbers and arrays of numbers.
unsafe impl Plain for nv::nvmlGpuFabricInfo_v2_t {}
// SAFETY: numbers and arrays of numbers.
unsafe impl Plain for nv::nvmlGpuFabricInfo_v3_t {}

/// A `T *` that the function writes through, and for in-out arguments reads first.
#[repr(transparent)]
pub(crate) struct Out<T>(Option<NonNull<T>>);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_none()
    }

    /// Writes the value, unless the pointer is null.
    pub(crate) fn set(self, value: T) -> Answer {
        let target = self.0.ok_or(Code::INVALID_ARGUMENT)?;
        // SAFETY: not null, and the caller vouches for it (see the module's head).
        unsafe { target.write(value) };
        Ok(())
    }

    /// Writes the values one after the other; the caller has said that there is room for them.
    pub(crate) fn set_all(self, values: impl Iterator<Item = T>) -> Answer {
        let target = self.0.ok_or(Code::INVALID_ARGUMENT)?;
        for (at, value) in values.enumerate() {
            // SAFETY: as in `set`; the function compared the number of values with the caller's room.
            unsafe { target.add(at).write(value) };
        }
        Ok(())
    }

    /// Clears the structure, then lets `fill` set its fields in place. Unlike `set` this leaves defined padding, which
    /// matters where a client's idea of a field is wider than NVIDIA's header.
    pub(crate) fn fill_in(self, fill: impl FnOnce(&mut T)) -> Answer
    where
        T: Plain,
    {
        let mut target = self.0.ok_or(Code::INVALID_ARGUMENT)?;
        // SAFETY: as in `set`; zero is a value of a `Plain` type, so that a reference can be made.
        unsafe {
            target.write_bytes(0, 1);
            fill(target.as_mut());
        }
        Ok(())
    }

    /// The first field of a versioned structure, its version tag.
    pub(crate) fn version(self) -> Result<c_uint, Code> {
        let target = self.0.ok_or(Code::INVALID_ARGUMENT)?;
        // SAFETY: as in `set`; every versioned structure of NVML begins with an `unsigned int`.
        Ok(unsafe { target.cast::<c_uint>().read() })
    }

    /// The same address seen as another structure, for functions that take several versions of one.
    pub(crate) fn as_version<V>(self) -> Out<V> {
        Out(self.0.map(NonNull::cast))
    }
}

impl<T: Copy> Out<T> {
    /// Reads an in-out argument.
    pub(crate) fn get(self) -> Result<T, Code> {
        let target = self.0.ok_or(Code::INVALID_ARGUMENT)?;
        // SAFETY: as in `set`; for an in-out argument the caller has written a value.
        Ok(unsafe { target.read() })
    }

    /// Changes each of `count` elements in place.
    pub(crate) fn update_all(self, count: usize, mut change: impl FnMut(T) -> T) -> Answer {
        let target = self.0.ok_or(Code::INVALID_ARGUMENT)?;
        for at in 0..count {
            // SAFETY: as in `set`; the caller says that there are `count` elements.
            unsafe {
                let element = target.add(at);
                element.write(change(element.read()));
            }
        }
        Ok(())
    }
}

impl Out<c_char> {
    /// Writes a C string into a buffer of `room` bytes, all of it or nothing.
    pub(crate) fn set_text(self, text: &str, room: c_uint) -> Answer {
        if self.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        if text.len() >= room as usize {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        #[expect(clippy::cast_possible_wrap, reason = "the bytes of a C string, whatever its char is")]
        self.set_all(text.bytes().chain([0]).map(|byte| byte as c_char))
    }
}

/// A `const char *` that the function reads.
#[repr(transparent)]
pub(crate) struct Text(Option<NonNull<c_char>>);

impl Text {
    /// The text, unless it is null or not UTF-8.
    pub(crate) fn get(&self) -> Result<&str, Code> {
        let text = self.0.ok_or(Code::INVALID_ARGUMENT)?;
        // SAFETY: not null, and the caller vouches for a NUL-terminated string that outlives the call.
        unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().map_err(|_| Code::INVALID_ARGUMENT)
    }
}

/// Copies a text into a fixed array of a structure, cut to fit with its NUL.
pub(crate) fn fill<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (slot, byte) in array.iter_mut().take(N.saturating_sub(1)).zip(text.bytes()) {
        #[expect(clippy::cast_possible_wrap, reason = "the bytes of a C string, whatever its char is")]
        {
            *slot = byte as c_char;
        }
    }
    array
}

/// Defines exported functions about one GPU, whose bodies see it through the scenario, and lists their names.
macro_rules! device_functions {
    ($list:ident; $($(#[$doc:meta])* fn $name:ident($gpu:ident $(, $arg:ident: $type:ty)*) $body:block)+) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As NVML asks: each pointer is null or valid for what the function does with it.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                device: nvml_wrapper_sys::bindings::nvmlDevice_t $(, $arg: $type)*
            ) -> nvml_wrapper_sys::bindings::nvmlReturn_t {
                $crate::call::device(stringify!($name), device, |$gpu| $body)
            }
        )+
        pub(super) const $list: &[&str] = &[$(stringify!($name)),+];
    };
}
pub(crate) use device_functions;
