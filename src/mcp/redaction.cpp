// The sanitizer (mcp/safe_text.hpp): a text is walked word by word; each is kept or removed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/ascii.hpp"
#include "mcp/safe_text.hpp"

namespace pillion::mcp {

namespace {

constexpr std::string_view removed = "[removed]";
constexpr std::size_t opaque_bytes_min = 20;

using base::is_alnum;
using base::is_alpha;
using base::is_digit;

constexpr bool is_blank(char c) noexcept {
    return static_cast<unsigned char>(c) <= ' ' && c != redaction::mark;
}

// Where `what`, in lower case, stands in `text` in any case, from `at` on.
std::size_t find_any_case(std::string_view text, std::string_view what,
                          std::size_t at = 0) noexcept {
    const auto found =
        std::search(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), what.begin(),
                    what.end(), [](char a, char b) { return base::to_lower(a) == b; });
    return found == text.end() ? text.npos : static_cast<std::size_t>(found - text.begin());
}
bool contains(std::string_view text, std::string_view what) noexcept {
    return find_any_case(text, what) != text.npos;
}
template <std::size_t N>
bool contains_one(std::string_view text, const std::array<std::string_view, N>& of) noexcept {
    return std::any_of(of.begin(), of.end(), [&](auto what) { return contains(text, what); });
}
bool equals(std::string_view text, std::string_view what) noexcept {
    return text.size() == what.size() && find_any_case(text, what) == 0;
}

// Without quotes, brackets and punctuation around it.
std::string_view core_of(std::string_view word) noexcept {
    constexpr std::string_view around = "\"'`()[]{}<>,;:.!?";
    const std::size_t first = word.find_first_not_of(around);
    return first == word.npos ? std::string_view{}
                              : word.substr(first, word.find_last_not_of(around) - first + 1);
}

// ---- secrets ----

constexpr std::array<std::string_view, 13> secret_names = {
    "password", "passwd",     "passphrase",  "pwd",        "secret",        "api_key", "apikey",
    "api-key",  "access_key", "private_key", "credential", "authorization", "cookie",
};
constexpr std::array<std::string_view, 9> secret_prefixes = {
    "sk-", "ghp_", "gho_", "ghs_", "github_pat_", "xoxb-", "xoxp-", "akia", "glpat-",
};

// Long enough, and mixed like nothing that people write.
bool is_opaque(std::string_view core, std::size_t bytes_min) noexcept {
    bool digit = false;
    bool letter = false;
    for (const char c : core) {
        if (!is_alnum(c) && std::strchr("+/_=-.~", c) == nullptr) {
            return false;
        }
        digit = digit || is_digit(c);
        letter = letter || is_alpha(c);
    }
    return core.size() >= bytes_min && digit && letter;
}

// user:password@host
bool has_userinfo(std::string_view word) noexcept {
    const std::size_t host = word.find('@');
    const std::size_t scheme = word.find("://");
    return host != word.npos && scheme != word.npos && scheme < host &&
           word.substr(scheme + 3, host - scheme - 3).find(':') != word.npos;
}

enum class assigned : std::uint8_t { nothing, secret, token };

// Whether the name of a secret stands in this word, followed by : or =, and what behind that.
assigned assignment(std::string_view word, std::string_view& value) noexcept {
    std::size_t begin = 0;  // of the name, so that no part is looked at twice
    for (std::size_t at = word.find_first_of(":="); at != word.npos;
         at = word.find_first_of(":=", begin)) {
        const std::string_view name = word.substr(begin, at - begin);
        begin = at + 1;
        value = word.substr(at + 1);
        if (contains_one(name, secret_names)) {
            return assigned::secret;
        }
        // "Unexpected token: }" is none.
        if (contains(name, "token") && (value.empty() || is_opaque(core_of(value), 8))) {
            return assigned::token;
        }
    }
    return assigned::nothing;
}

bool is_secret(std::string_view word) noexcept {
    const std::string_view core = core_of(word);
    for (const std::string_view prefix : secret_prefixes) {
        if (find_any_case(core.substr(0, prefix.size()), prefix) == 0 &&
            is_opaque(core.substr(prefix.size()), 12)) {
            return true;
        }
    }
    return (core.starts_with("eyJ") && core.size() >= opaque_bytes_min) || has_userinfo(word) ||
           contains(word, "-----begin");
}

// ---- places ----

constexpr std::array<std::string_view, 12> inner_schemes = {
    "file:", "jdbc:", "postgres", "mysql:", "mongodb", "redis",
    "amqp",  "ldap",  "ftp:",     "ssh:",   "smb:",    "unix:",
};
constexpr std::array<std::string_view, 11> inner_domains = {
    ".internal", ".local",   ".corp",        ".lan",       ".intranet", ".private",
    ".svc",      ".cluster", ".localdomain", ".home.arpa", "localhost",
};
constexpr std::array<std::string_view, 11> source_suffixes = {
    ".cpp:", ".cc:", ".hpp:", ".c:", ".h:", ".py:", ".js:", ".ts:", ".go:", ".rs:", ".java:",
};

bool is_name_byte(char c) noexcept { return is_alnum(c) || c == '_' || c == '.' || c == '~'; }

// A slash that begins a path: nothing of a name before it, something behind. Or a drive, a share.
bool has_absolute_path(std::string_view word) noexcept {
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        const char before = i == 0 ? ' ' : word[i - 1];
        if (word[i] == '/' && is_name_byte(word[i + 1]) && before != '/' &&
            (!is_alnum(before) && before != '_' && before != '.' && before != ')')) {
            return true;
        }
        if (word[i] == '~' && word[i + 1] == '/') {
            return true;
        }
        if (word[i] == ':' && word[i + 1] == '\\' && is_alpha(before)) {
            return true;
        }
        if (word[i] == '\\' && word[i + 1] == '\\') {
            return true;
        }
    }
    return false;
}

// Four numbers with dots, or groups of hex digits with colons: an address.
bool has_ip_address(std::string_view word) noexcept {
    const std::string_view core = core_of(word);
    std::size_t dots = 0;
    std::size_t colons = 0;
    bool hex = true;
    std::size_t digits = 0;
    for (const char c : core) {
        if (c == '.' && digits > 0 && digits <= 3) {
            ++dots;
            digits = 0;
        } else if (is_digit(c)) {
            ++digits;
            if (dots == 3) {
                return true;
            }
        } else if (!is_alnum(c)) {
            dots = digits = 0;
        } else {
            digits = 4;  // no number
        }
        colons += c == ':' ? 1 : 0;
        hex = hex && (c == ':' || base::hex_digit(c) >= 0);
    }
    return hex && core.size() > 4 && (colons >= 3 || core.find("::") != core.npos);
}

// host:5432
bool has_port(std::string_view word) noexcept {
    const std::string_view core = core_of(word);
    const std::size_t at = core.rfind(':');
    if (at == core.npos || at == 0 || at + 3 > core.size() || !is_alpha(core[0])) {
        return false;
    }
    const std::string_view port = core.substr(at + 1, core.find('/', at) - at - 1);
    return port.size() >= 2 && port.size() <= 5 && std::all_of(port.begin(), port.end(), is_digit);
}

bool names_inner_place(std::string_view word) noexcept {
    return contains_one(word, inner_schemes) || contains_one(word, inner_domains) ||
           contains_one(word, source_suffixes) || has_ip_address(word) || has_absolute_path(word);
}

// Strict: any path, address or opaque token.
bool names_any_place(std::string_view word) noexcept {
    const std::string_view core = core_of(word);
    const auto slashes = std::count(core.begin(), core.end(), '/');
    return core.find("://") != core.npos || slashes >= 2 ||
           (slashes == 1 && core.find('.') != core.npos) || core.find('\\') != core.npos ||
           core.find('@') != core.npos || has_port(word) ||
           (core.size() > 8 && core.starts_with("0x")) || is_opaque(core, opaque_bytes_min);
}

// ---- SQL ----

// Where a statement begins; npos when there is none. In English "select" and "from" may well stand
// in one sentence, but not with one of these signs.
std::size_t find_sql(std::string_view text) noexcept {
    constexpr std::array<std::string_view, 9> openings = {
        "insert into ",    "delete from ",  "drop table ",       "alter table ", "create table ",
        "truncate table ", "union select ", "union all select ", "merge into ",
    };
    std::size_t first = text.npos;
    for (const std::string_view opening : openings) {
        first = std::min(first, find_any_case(text, opening));
    }
    const bool signs = text.find_first_of("*=;(%$") != text.npos || contains(text, " where ");
    const std::array<std::pair<std::string_view, std::string_view>, 2> pairs = {
        {{"select ", " from "}, {"update ", " set "}}};
    for (const auto& [verb, then] : pairs) {
        const std::size_t at = find_any_case(text, verb);
        const bool upper = at != text.npos && base::is_upper(text[at + 1]);
        if (at != text.npos && find_any_case(text, then, at) != text.npos && (signs || upper)) {
            first = std::min(first, at);
        }
    }
    return first;
}

// ---- stack traces ----

// A line of a stack trace, as the usual languages write it.
bool is_trace_line(std::string_view line) noexcept {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == line.npos) {
        return false;
    }
    line.remove_prefix(first);
    return (first > 0 && line.starts_with("at ")) ||
           (line.starts_with("#") && line.size() > 2 && is_digit(line[1])) ||
           (line.starts_with("File \"") && contains(line, ", line ")) ||
           line.starts_with("Traceback (most recent call last)") ||
           line.starts_with("Caused by: ") || line.starts_with("goroutine ") ||
           contains(line, "stack backtrace:");
}

// ---- the walk ----

class redactor {
 public:
    // Without a place to write it only counts.
    redactor(redaction how, char* to) noexcept : how_(how), start_(to) {}

    void text(std::string_view said) noexcept {
        bool first = true;
        while (true) {
            const std::size_t end = said.find('\n');
            const std::string_view one = said.substr(0, end);
            if (is_trace_line(one)) {
                changed_ = true;
            } else {
                if (!first) {
                    put("\n");
                }
                line(one);
                first = false;
            }
            if (end == said.npos) {
                return;
            }
            if (how_.strict && !first) {
                changed_ = true;
                return;
            }
            said.remove_prefix(end + 1);
        }
    }
    bool changed() const noexcept { return changed_; }
    std::size_t bytes() const noexcept { return bytes_; }

 private:
    void put(std::string_view part) noexcept {
        if (start_ != nullptr) {
            part.copy(start_ + bytes_, part.size());
        }
        bytes_ += part.size();
    }

    void line(std::string_view one) noexcept {
        const std::size_t sql = how_.places ? find_sql(one) : one.npos;
        std::size_t at = 0;
        while (at < one.size()) {
            const std::size_t blank = at;
            while (at < one.size() && is_blank(one[at])) {
                ++at;
            }
            const std::size_t begin = at;
            while (at < one.size() && !is_blank(one[at])) {
                ++at;
            }
            const std::string_view w = one.substr(begin, at - begin);
            word(one.substr(blank, begin - blank), w,
                 removes(w) || (sql != one.npos && at > sql && !w.empty()));
        }
        open_quote_ = '\0';
        next_ = expected::anything;
        last_removed_ = false;
    }

    void word(std::string_view blanks, std::string_view w, bool goes) noexcept {
        if (goes) {
            changed_ = true;
            if (!last_removed_) {
                put(blanks);
                put(removed);
            }
            last_removed_ = true;
            return;
        }
        last_removed_ = false;
        put(blanks);
        put(w);
    }

    bool removes(std::string_view w) noexcept {
        if (w.empty()) {  // blanks at the end of a line
            return false;
        }
        if (open_quote_ != '\0') {
            open_quote_ = w.find(open_quote_) != w.npos ? '\0' : open_quote_;
            return true;
        }
        const std::string_view core = core_of(w);
        const expected now = next_;
        next_ = expected::anything;
        if (now == expected::equals && w == "=") {
            next_ = expected::secret;
            return false;
        }
        if (equals(core, "bearer") || equals(core, "basic")) {
            next_ = expected::credentials;
            return now == expected::secret;
        }
        std::string_view value;
        const assigned what = assignment(w, value);
        if (what != assigned::nothing) {
            if (value.empty()) {  // "password:", and then the value
                next_ = what == assigned::secret ? expected::secret : expected::credentials;
                return false;
            }
            note_quote(value);
            return true;
        }
        if (now == expected::secret) {
            note_quote(w);
            return true;
        }
        if (now == expected::credentials &&
            (is_opaque(core, 8) || core.size() >= opaque_bytes_min)) {
            return true;
        }
        if (contains_one(core, secret_names)) {
            next_ = expected::equals;  // a plain mention of a password changes nothing
        }
        return is_secret(w) || (how_.places && names_inner_place(w)) ||
               (how_.strict && (names_any_place(w) || w.find(redaction::mark) != w.npos));
    }

    // A value in quotes that goes on in the next word.
    void note_quote(std::string_view value) noexcept {
        const char quote = value[0];
        if ((quote == '"' || quote == '\'') && value.find(quote, 1) == value.npos) {
            open_quote_ = quote;
        }
    }

    // What the word before says about the next one.
    enum class expected : std::uint8_t { anything, equals, secret, credentials };

    redaction how_;
    char* start_;
    std::size_t bytes_ = 0;
    char open_quote_ = '\0';  // all goes until this quote
    expected next_ = expected::anything;
    bool last_removed_ = false;
    bool changed_ = false;
};

}  // namespace

std::string_view redact(std::string_view said, redaction how, base::arena& memory) {
    how.places = how.places || how.strict;
    redactor sizes(how, nullptr);
    sizes.text(said);
    if (!sizes.changed()) {
        return said;
    }
    char* const to = static_cast<char*>(memory.allocate(sizes.bytes(), 1));
    redactor writes(how, to);
    writes.text(said);
    return {to, writes.bytes()};
}

}  // namespace pillion::mcp
