// unique_function: an owned callable that can be moved but not copied, so that it may hold
// move-only captures. Up to 48 bytes live inside the object, larger callables on the heap.
//
// Used for jobs that one thread hands to another; hot paths take function_ref instead.
// Thread-safety: that of the callable inside.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"

namespace pillion::base {

template <class Signature>
class unique_function;

template <class R, class... Args>
class unique_function<R(Args...)> {
 public:
    static constexpr std::size_t inline_bytes = 48;

    // Whether an F lives inside the object: it must fit and move without throwing.
    template <class F>
    static constexpr bool fits_inline =
        sizeof(F) <= inline_bytes && alignof(F) <= alignof(std::max_align_t) &&
        std::is_nothrow_move_constructible_v<F>;

    // Empty; calling it aborts.
    unique_function() noexcept = default;

    // Takes `callable` over.
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> &&
                 std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
    unique_function(F&& callable) {
        using type = std::decay_t<F>;
        if constexpr (fits_inline<type>) {
            ::new (static_cast<void*>(storage_)) type(std::forward<F>(callable));
        } else {
            ::new (static_cast<void*>(storage_)) type*(new type(std::forward<F>(callable)));
        }
        operations_ = &table<type>;
    }

    unique_function(unique_function&& other) noexcept { take(other); }
    unique_function& operator=(unique_function&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~unique_function() { reset(); }

    // True when it holds a callable.
    explicit operator bool() const noexcept { return operations_ != nullptr; }

    // Calls it. REQUIRES: not empty.
    R operator()(Args... args) {
        PILLION_ASSERT(operations_ != nullptr);
        return operations_->call(storage_, std::forward<Args>(args)...);
    }

    // Destroys the callable; the object is empty afterwards.
    void reset() noexcept {
        if (operations_ != nullptr) {
            std::exchange(operations_, nullptr)->destroy(storage_);
        }
    }

 private:
    struct operations {
        R (*call)(void* storage, Args&&... args);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void* storage) noexcept;
    };

    template <class F>
    static F& held(void* storage) noexcept {
        if constexpr (fits_inline<F>) {
            return *std::launder(static_cast<F*>(storage));
        } else {
            return **std::launder(static_cast<F**>(storage));
        }
    }

    template <class F>
    static R call(void* storage, Args&&... args) {
        return static_cast<R>(held<F>(storage)(std::forward<Args>(args)...));
    }

    template <class F>
    static void move(void* from, void* to) noexcept {
        if constexpr (fits_inline<F>) {
            ::new (to) F(std::move(held<F>(from)));
            held<F>(from).~F();
        } else {
            ::new (to) F*(&held<F>(from));
        }
    }

    template <class F>
    static void destroy(void* storage) noexcept {
        if constexpr (fits_inline<F>) {
            held<F>(storage).~F();
        } else {
            delete &held<F>(storage);
        }
    }

    template <class F>
    static constexpr operations table{&call<F>, &move<F>, &destroy<F>};

    void take(unique_function& other) noexcept {
        operations_ = std::exchange(other.operations_, nullptr);
        if (operations_ != nullptr) {
            operations_->move(other.storage_, storage_);
        }
    }

    alignas(std::max_align_t) std::byte storage_[inline_bytes];
    const operations* operations_ = nullptr;
};

}  // namespace pillion::base
