#include "sidecar/prompt_file.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/ascii.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

// Suggestions in one answer (MCP, completion/complete).
constexpr std::size_t answered_max = 100;
constexpr std::string_view open_braces = "{{";
constexpr std::string_view close_braces = "}}";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    return text.substr(begin, end == text.npos ? 0 : end + 1 - begin);
}

// The role of a line that begins a message.
enum class role { none, user, assistant };

role role_of(std::string_view line) {
    line = trimmed(line);
    return line == "<!-- user -->"        ? role::user
           : line == "<!-- assistant -->" ? role::assistant
                                          : role::none;
}

class text_reader {
 public:
    explicit text_reader(prompt_file& to) : to_(to) {}

    bool read(std::string_view text, std::size_t& line, std::string& fault) {
        begin(false);
        for (line = 1; !text.empty(); ++line) {
            const std::size_t end = text.find('\n');
            const std::string_view whole = text.substr(0, end);
            text.remove_prefix(std::min(whole.size() + 1, text.size()));
            const role next = role_of(whole);
            if (next != role::none) {
                finish();
                begin(next == role::assistant);
            } else if (!take_line(whole, fault)) {
                return false;
            }
            if (to_.messages.size() > prompt_file::messages_max) {
                fault = "there are more than 64 messages";
                return false;
            }
        }
        finish();
        if (to_.messages.empty()) {
            line = 1;
            fault = "the prompt has no text";
            return false;
        }
        return true;
    }

 private:
    void begin(bool assistant) {
        message_ = prompt_message();
        message_.assistant = assistant;
        plain_.clear();
        any_ = false;
    }

    // Empty lines around a message are for the eye; one that is nothing else is none.
    void finish() {
        plain_ = plain_.substr(0, plain_.find_last_not_of(" \t\r\n") + 1);
        end_plain();
        if (!message_.parts.empty()) {
            to_.messages.push_back(std::move(message_));
        }
    }

    void end_plain() {
        if (!plain_.empty()) {
            message_.parts.push_back({std::move(plain_)});
            plain_.clear();
        }
    }

    bool take_line(std::string_view line, std::string& fault) {
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (!any_ && trimmed(line).empty()) {
            return true;
        }
        if (any_) {
            plain_ += '\n';
        }
        any_ = true;
        while (!line.empty()) {
            const std::size_t at = line.find(open_braces);
            if (at == line.npos) {
                break;
            }
            if (at > 0 && line[at - 1] == '\\') {
                plain_ += line.substr(0, at - 1);
                plain_ += open_braces;
                line.remove_prefix(at + open_braces.size());
                continue;
            }
            plain_ += line.substr(0, at);
            const std::size_t end = line.find(close_braces, at);
            if (end == line.npos || !take_place(line.substr(at + 2, end - at - 2), fault)) {
                fault = fault.empty() ? "{{ without its }}; \\{{ is two braces" : fault;
                return false;
            }
            line.remove_prefix(end + close_braces.size());
        }
        plain_ += line;
        return true;
    }

    bool take_place(std::string_view name, std::string& fault) {
        name = trimmed(name);
        for (std::size_t i = 0; i < to_.arguments.size(); ++i) {
            if (to_.arguments[i].name == name) {
                end_plain();
                message_.parts.push_back({{}, i});
                return true;
            }
        }
        fault = "{{" + one_line(name, 64) + "}} is none of the arguments; \\{{ is two braces";
        return false;
    }

    prompt_file& to_;
    prompt_message message_;
    std::string plain_;
    bool any_ = false;  // the message has a line
};

bool begins_with(std::string_view text, std::string_view typed) {
    return text.size() >= typed.size() &&
           base::equals_ignore_case(text.substr(0, typed.size()), typed);
}

struct prompt_renderer {
    std::shared_ptr<const prompt_file> file;

    task<prompt_result> operator()(context& ctx, json::view arguments) const {
        prompt_result out = ctx.prompt(file->description);
        for (const prompt_message& message : file->messages) {
            const std::string text = prompt_text(*file, message, arguments);
            if (message.assistant) {
                out.assistant(text);
            } else {
                out.user(text);
            }
        }
        co_return out;
    }
};

struct prompt_completer {
    std::shared_ptr<const prompt_file> file;
    std::size_t argument;

    task<completion_result> operator()(context& ctx, std::string_view typed, json::view) const {
        completion_result out = ctx.completion();
        std::size_t found = 0;
        for (const std::string& one : file->arguments[argument].complete) {
            if (begins_with(one, typed) && ++found <= answered_max) {
                out.add(one);
            }
        }
        out.total(static_cast<std::int64_t>(found), found > answered_max);
        co_return out;
    }
};

}  // namespace

bool parse_prompt_text(std::string_view text, prompt_file& to, std::size_t& line,
                       std::string& fault) {
    to.messages.clear();
    fault.clear();
    return text_reader(to).read(text, line, fault);
}

std::string prompt_text(const prompt_file& of, const prompt_message& message,
                        json::view arguments) {
    std::string out;
    for (const prompt_part& part : message.parts) {
        if (part.argument == prompt_part::no_argument) {
            out += part.text;
        } else {
            out += arguments[of.arguments[part.argument].name].str();
        }
    }
    return out;
}

void add_prompt(prompt_builder to, prompt_file what) {
    const auto shared = std::make_shared<const prompt_file>(std::move(what));
    to.title(shared->title).about(shared->description);
    for (std::size_t i = 0; i < shared->arguments.size(); ++i) {
        const prompt_argument& one = shared->arguments[i];
        to.argument(one.name, one.description, one.required);
        if (!one.complete.empty()) {
            to.complete(prompt_completer{shared, i});
        }
    }
    to.run(prompt_renderer{shared});
}

}  // namespace pillion::sidecar
