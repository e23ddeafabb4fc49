// intrusive_list: a doubly linked list whose links live in the elements: no allocation, and an
// element leaves its list in O(1) without knowing which list that is.
//
// The list owns nothing. An element must be out of its list when it dies, and a list empty when it
// dies; both are asserted. To be in several lists at once, derive from hooks with different tags.
//
// Thread-safety: none; lists and their elements belong to one thread.
#pragma once

#include <cstddef>

#include "base/assert.hpp"

namespace pillion::base {

namespace detail {

// A circular chain; both links are null while unlinked.
struct list_links {
    list_links* previous = nullptr;
    list_links* next = nullptr;

    // Links this in front of `position`.
    void insert_before(list_links& position) noexcept {
        previous = position.previous;
        next = &position;
        previous->next = this;
        position.previous = this;
    }

    // Takes this out of its chain.
    void remove() noexcept {
        previous->next = next;
        next->previous = previous;
        previous = next = nullptr;
    }
};

}  // namespace detail

// Base class of an element. `Tag` tells hooks of one element apart.
template <class Tag = void>
class list_hook : private detail::list_links {
 public:
    list_hook() noexcept = default;
    list_hook(const list_hook&) = delete;
    list_hook& operator=(const list_hook&) = delete;
    ~list_hook() { PILLION_ASSERT(!linked()); }

    // True while the element is in a list.
    bool linked() const noexcept { return next != nullptr; }

    // Takes the element out of its list. REQUIRES: linked().
    void unlink() noexcept {
        PILLION_ASSERT(linked());
        remove();
    }

 private:
    template <class T, class U>
    friend class intrusive_list;
};

template <class T, class Tag = void>
class intrusive_list {
    using hook = list_hook<Tag>;
    using links = detail::list_links;

 public:
    intrusive_list() noexcept { head_.previous = head_.next = &head_; }
    intrusive_list(const intrusive_list&) = delete;
    intrusive_list& operator=(const intrusive_list&) = delete;
    ~intrusive_list() { PILLION_ASSERT(empty()); }

    // True when no element is in the list.
    bool empty() const noexcept { return head_.next == &head_; }

    // Adds `element` at the end. REQUIRES: it is in no list through this hook.
    void push_back(T& element) noexcept { insert(element, head_); }
    // Adds `element` at the front. REQUIRES: as push_back().
    void push_front(T& element) noexcept { insert(element, *head_.next); }

    // The first and the last element, nullptr when empty.
    T* front() noexcept { return empty() ? nullptr : &owner(head_.next); }
    T* back() noexcept { return empty() ? nullptr : &owner(head_.previous); }

    // Takes the first (last) element out and returns it, nullptr when empty.
    T* pop_front() noexcept { return pop(head_.next); }
    T* pop_back() noexcept { return pop(head_.previous); }

    // Moves all elements of `other` behind those of this list, in their order, in O(1).
    void splice_back(intrusive_list& other) noexcept {
        if (other.empty()) {
            return;
        }
        links* const first = other.head_.next;
        links* const last = other.head_.previous;
        first->previous = head_.previous;
        head_.previous->next = first;
        last->next = &head_;
        head_.previous = last;
        other.head_.previous = other.head_.next = &other.head_;
    }

    // The number of elements; O(n), for tests and reports.
    std::size_t count() const noexcept {
        std::size_t n = 0;
        for (const links* at = head_.next; at != &head_; at = at->next) {
            ++n;
        }
        return n;
    }

    // Forward iteration. Unlinking the element an iterator stands on invalidates that iterator.
    class iterator {
     public:
        explicit iterator(links* at) noexcept : at_(at) {}
        T& operator*() const noexcept { return owner(at_); }
        T* operator->() const noexcept { return &owner(at_); }
        iterator& operator++() noexcept {
            at_ = at_->next;
            return *this;
        }
        bool operator==(const iterator& other) const noexcept = default;

     private:
        links* at_;
    };
    // The range of all elements, first to last.
    iterator begin() noexcept { return iterator(head_.next); }
    iterator end() noexcept { return iterator(&head_); }

 private:
    static T& owner(links* at) noexcept { return static_cast<T&>(static_cast<hook&>(*at)); }

    static void insert(T& element, links& position) noexcept {
        hook& h = element;
        PILLION_ASSERT(!h.linked());
        h.insert_before(position);
    }

    T* pop(links* at) noexcept {
        if (empty()) {
            return nullptr;
        }
        at->remove();
        return &owner(at);
    }

    links head_;
};

}  // namespace pillion::base
