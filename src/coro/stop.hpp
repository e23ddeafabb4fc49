// stop: cancellation as a tree (server, connection, request, sub-task), on one thread.
//
// A request to stop marks a node, then its children depth-first, then runs the node's callbacks,
// the youngest first: inner work is told before the work around it. Callbacks cancel an operation
// or schedule a coroutine; they do not run user code. Nothing here allocates.
//
// std::stop_token is atomic, allocates and has no tree, hence an own one.
// Thread: all nodes of a tree and their callbacks belong to one thread.
#pragma once

#include <cstdint>

#include "base/intrusive_list.hpp"

namespace pillion::coro {

// Why work shall stop. It decides the reply: after client_cancelled there is none.
enum class stop_reason : std::uint8_t {
    none,
    client_cancelled,
    deadline,
    disconnected,
    shutdown,
    session_ended,
    input_required,
};

// The name of a reason for logs ("client_cancelled"); lives for ever.
const char* to_string(stop_reason reason) noexcept;

class stop_node;

// A function that runs once when its node is requested. Lives where its owner wants it, usually in
// an awaiter. It may be destroyed or detached at any time, also by itself or by another callback.
class stop_callback : private base::list_hook<> {
 public:
    using function = void (*)(void* context) noexcept;

    // Registered nowhere; see attach().
    stop_callback() noexcept = default;
    // The same as attach().
    stop_callback(stop_node& node, function run, void* context) noexcept;
    ~stop_callback() { detach(); }

    // Registers with `node`; when that is requested already, runs at once and is not registered.
    // REQUIRES: !attached().
    void attach(stop_node& node, function run, void* context) noexcept;

    // Unregisters, if registered; afterwards it does not run. O(1).
    void detach() noexcept {
        if (linked()) {
            unlink();
        }
    }

    // True while it waits for its node to be requested.
    bool attached() const noexcept { return linked(); }

 private:
    friend class stop_node;
    friend class base::intrusive_list<stop_callback>;

    function run_ = nullptr;
    void* context_ = nullptr;
};

class stop_node : private base::list_hook<> {
 public:
    // A root.
    stop_node() noexcept = default;
    // A child of `parent` (a root when null); requested at once when the parent is.
    explicit stop_node(stop_node* parent) noexcept;
    // Leaves the parent. Asserts that no child and no callback is left, and that it is not one of
    // its own callbacks (nor one of a child) that destroys it.
    ~stop_node();

    // True once request() was called here or above.
    bool requested() const noexcept { return reason_ != stop_reason::none; }

    // Why, none before a request. The first reason stays.
    stop_reason reason() const noexcept { return reason_; }

    // Requests the node and everything below. Only the first call has an effect.
    // Callbacks may detach or destroy any callback, attach new ones (these run at once), make
    // children (requested at once), destroy other nodes, and call request() anywhere.
    // REQUIRES: reason != none.
    void request(stop_reason reason) noexcept;

 private:
    friend class stop_callback;
    friend class base::intrusive_list<stop_node>;

    base::intrusive_list<stop_node> children_;
    // Children that were told; a separate list makes the walk immune to what callbacks do.
    base::intrusive_list<stop_node> told_;
    base::intrusive_list<stop_callback> callbacks_;
    stop_reason reason_ = stop_reason::none;
    bool walking_ = false;
};

}  // namespace pillion::coro
