// registration_faults: what is wrong with what was registered, all of it. Each says what it is
// about, so that whoever knows where that was written can tell the place. Plain data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pillion::mcp {

struct registration_fault {
    // As the sections of a configuration are called: "tools", "prompts", "resources", "methods",
    // "folders"; empty: about the server itself.
    const char* section = "";
    std::string name;  // or URI
    std::string part;  // of it, as its key is called: "input", "scopes"; empty: the whole
    std::string text;  // one line that names it
};

class registration_faults : public std::vector<registration_fault> {
 public:
    // More are not told of at a time: a thousand tools may have the same fault.
    static constexpr std::size_t faults_max = 100;

    void add(registration_fault one) {
        if (size() < faults_max) {
            push_back(std::move(one));
        }
    }
    void add_all(registration_faults more) {
        for (registration_fault& one : more) {
            add(std::move(one));
        }
    }
    // All on one line.
    std::string joined() const {
        std::string all;
        for (const registration_fault& one : *this) {
            all.append(all.empty() ? "" : "; ").append(one.text);
        }
        return all;
    }
};

// The faults of one thing, whose texts begin with what it is.
class faults_of_one {
 public:
    faults_of_one(registration_faults& to, const char* section, std::string name, std::string where)
        : to_(to), section_(section), name_(std::move(name)), where_(std::move(where)) {}

    void add(std::string_view text, const char* part = "") {
        to_.add({section_, name_, part, where_ + ": " + std::string(text)});
        good_ = false;
    }
    bool good() const noexcept { return good_; }

 private:
    registration_faults& to_;
    const char* section_;
    std::string name_;
    std::string where_;
    bool good_ = true;
};

}  // namespace pillion::mcp
