//! The context of an error.

use std::ffi::{CStr, c_char, c_void};

use pgrx::pg_sys;

use crate::server::encoding::encode;
use crate::server::unguarded::errcontext_msg;

/// Acts, and adds a line to the context of all reports meanwhile.
pub fn with_context<T>(line: &str, act: impl FnOnce() -> T) -> T {
    let line = encode(line);
    let mut frame = pg_sys::ErrorContextCallback {
        // SAFETY: reads a variable of this process.
        previous: unsafe { pg_sys::error_context_stack },
        callback: Some(add),
        arg: line.as_ptr().cast_mut().cast(),
    };
    // A panic is reported when this frame is gone, so the stack is put back by a drop.
    let _back = PutBack(frame.previous);
    // SAFETY: the frame is taken off the stack before it goes.
    unsafe { pg_sys::error_context_stack = &raw mut frame };
    act()
}

struct PutBack(*mut pg_sys::ErrorContextCallback);

impl Drop for PutBack {
    fn drop(&mut self) {
        // SAFETY: a variable of this process, which is what it was before.
        unsafe { pg_sys::error_context_stack = self.0 };
    }
}

unsafe extern "C-unwind" fn add(line: *mut c_void) {
    const TEXT: &CStr = c"%s";
    // SAFETY: a report is being finished, and the line lives as long as the frame.
    unsafe { errcontext_msg(TEXT.as_ptr(), line.cast::<c_char>()) };
}
