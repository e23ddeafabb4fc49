// core_dumps: whether the system may write what is in this process's memory to a file when it
// crashes, keys and tokens among it.
//
// Thread: the first one, before there are others.
#pragma once

namespace pillion::base {

// Until further notice none is written. allow_core_dumps() takes it back.
void hold_core_dumps() noexcept;
// As the system had it before.
void allow_core_dumps() noexcept;
// None is ever written, not by a handler of the system either, and no other process of this user
// may look inside (prctl(2), PR_SET_DUMPABLE).
void forbid_core_dumps() noexcept;

}  // namespace pillion::base
