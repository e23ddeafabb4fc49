// function_ref: a borrowed callable, two words, for parameters of functions that call back before
// they return. It does not keep the callable alive: never store one.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace pillion::base {

template <class Signature>
class function_ref;

template <class R, class... Args>
class function_ref<R(Args...)> {
 public:
    // Borrows `callable`, which must outlive every call.
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> &&
                 std::is_object_v<std::remove_reference_t<F>> &&
                 std::is_invocable_r_v<R, F&, Args...>)
    function_ref(F&& callable) noexcept
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
          call_([](void* object, Args... args) -> R {
              using type = std::remove_reference_t<F>;
              return static_cast<R>((*static_cast<type*>(object))(std::forward<Args>(args)...));
          }) {}

    // Calls the borrowed callable.
    R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
    void* object_;
    R (*call_)(void*, Args...);
};

}  // namespace pillion::base
