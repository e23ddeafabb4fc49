#include "io/backend_factory.hpp"

#include "io/epoll_backend.hpp"
#include "io/uring_backend.hpp"

namespace pillion::io {

result<std::unique_ptr<backend>> make_backend(backend_mode mode, std::string& note,
                                              const backend_options& options) {
    note.clear();
    if (mode == backend_mode::epoll) {
        return make_epoll_backend(options);
    }
    std::string why;
    auto made = make_uring_backend(options, {}, why);
    if (made) {
        return made;
    }
    if (mode == backend_mode::uring) {
        note = why;
        return made.error();
    }
    note = "epoll (" + why + ")";
    return make_epoll_backend(options);
}

}  // namespace pillion::io
