#include "schema/ecma_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/ascii.hpp"

namespace pillion::schema_check {

namespace {

// RE2 refuses larger counts; a larger one is spelt as several.
constexpr std::uint32_t re2_repeat_max = 1000;
// A pattern spelt for RE2 stays below this.
constexpr std::size_t re2_bytes_max = 256 * 1024;
constexpr int groups_max = 256;

// \s (ECMA-262 WhiteSpace and LineTerminator), \d, \w and what "." does not match.
constexpr code_range spaces[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
constexpr code_range digits[] = {{'0', '9'}};
constexpr code_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
constexpr code_range line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
constexpr std::string_view punctuation = "^$\\.*+?()[]{}|/-_,:;!\"#%&'<=>@`~ ";

// One pass over a pattern. Without `out` it only checks the syntax and takes no memory.
class reader {
 public:
    reader(std::string_view pattern, translation* out) noexcept : text_(pattern), out_(out) {}

    bool read() {
        while (fault_ == nullptr && at_ < text_.size()) {
            read_one();
        }
        if (fault_ == nullptr && depth_ > 0) {
            fault_ = "has a group without an end";
        }
        return fault_ == nullptr;
    }
    const char* fault() const noexcept { return fault_; }

 private:
    // A character of a class or of the pattern: a code point, or a set like \d.
    struct item {
        std::uint32_t code = 0;
        bool is_set = false;
    };

    bool fail(const char* why) noexcept {
        fault_ = fault_ == nullptr ? why : fault_;
        return false;
    }
    bool unsupported(const char* why) noexcept { return out_ == nullptr || fail(why); }
    bool take(std::string_view token) noexcept {
        if (!text_.substr(at_).starts_with(token)) {
            return false;
        }
        at_ += token.size();
        return true;
    }

    void read_one() {
        const bool first = at_ == 0;
        switch (text_[at_]) {
            case '(':
                return open_group();
            case ')':
                return close_group();
            case '|':
                ++at_;
                return structure("|");
            case '^':
                ++at_;
                repeatable_ = false;
                if (out_ != nullptr) {
                    out_->re2 += '^';
                    (first ? out_->from_start : not_plain_) = true;
                }
                return settle();
            case '$':
                ++at_;
                repeatable_ = false;
                if (out_ != nullptr) {
                    out_->re2 += "\\z";
                    (at_ == text_.size() ? out_->to_end : not_plain_) = true;
                }
                return settle();
            case '*':
            case '+':
            case '?':
            case '{':
                return read_repeat();
            case '[':
                return read_class();
            case '.':
                ++at_;
                begin_set();
                add(line_ends);
                return end_set(true);
            default:
                return read_character();
        }
    }

    void settle() {
        if (out_ != nullptr && not_plain_) {
            out_->plain = false;
        }
    }

    // Text that is no atom. Patterns with it are not plain.
    void structure(std::string_view re2) {
        repeatable_ = false;
        if (out_ != nullptr) {
            out_->re2 += re2;
            out_->plain = false;
        }
    }

    void open_group() {
        ++at_;
        bool assertion = false;
        if (take("?")) {
            if (take("=") || take("!") || take("<=") || take("<!")) {
                assertion = true;
                unsupported("uses look-around, which RE2 does not have");
            } else if (take("<")) {
                const std::size_t end = text_.find('>', at_);
                if (end == std::string_view::npos || end == at_ || base::is_digit(text_[at_])) {
                    fail("has a malformed group name");
                    return;
                }
                at_ = end + 1;
            } else if (!take(":")) {
                fail("has a group of an unknown kind");
                return;
            }
        }
        if (depth_ == groups_max) {
            fail("has too many groups in each other");
            return;
        }
        // A look-behind cannot be repeated, and a repeated look-ahead means nothing.
        assertions_[depth_] = assertion;
        starts_[depth_] = out_ == nullptr ? 0 : out_->re2.size();
        weights_[depth_++] = out_ == nullptr ? 0 : out_->weight;
        structure("(?:");
    }

    void close_group() {
        ++at_;
        if (depth_ == 0) {
            fail("has a bracket that closes nothing");
            return;
        }
        structure(")");
        --depth_;
        atom_ = starts_[depth_];
        atom_weight_ = out_ == nullptr ? 0 : out_->weight - weights_[depth_];
        repeatable_ = !assertions_[depth_];
    }

    // At '{': whether a repetition stands there. Moves behind it.
    bool read_counts(std::uint32_t& least, std::uint32_t& most) noexcept {
        const std::size_t end = text_.find('}', at_);
        if (end == std::string_view::npos) {
            return false;
        }
        const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        const std::size_t comma = inside.find(',');
        const auto number = [](std::string_view text, std::uint32_t& value) {
            const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool all = !text.empty() && done.ptr == text.data() + text.size();
            value = done.ec == std::errc::result_out_of_range ? unlimited - 1 : value;
            return all;
        };
        if (!number(inside.substr(0, comma), least)) {
            return false;
        }
        most = least;
        if (comma != std::string_view::npos) {
            most = unlimited;
            if (comma + 1 < inside.size() && !number(inside.substr(comma + 1), most)) {
                return false;
            }
        }
        at_ = end + 1;
        return true;
    }

    void read_repeat() {
        std::uint32_t least = 0;
        std::uint32_t most = unlimited;
        const char sign = text_[at_];
        if (sign == '{') {
            if (!read_counts(least, most)) {
                return read_character();
            }
        } else {
            ++at_;
            least = sign == '+' ? 1 : 0;
            most = sign == '?' ? 1 : unlimited;
        }
        if (!repeatable_) {
            fail("repeats nothing");
            return;
        }
        if (least > most) {
            fail("repeats with its counts out of order");
            return;
        }
        take("?");  // whether it prefers less does not change whether it matches
        repeatable_ = false;
        if (out_ != nullptr) {
            write_repeat(least, most);
        }
    }

    void write_repeat(std::uint32_t least, std::uint32_t most) {
        std::string& re2 = out_->re2;
        if (out_->plain && !out_->pieces.empty()) {
            out_->pieces.back().least = least;
            out_->pieces.back().most = most;
        }
        const std::string atom = re2.substr(atom_);
        re2.resize(atom_);
        const std::uint32_t times = most == unlimited ? least : most;
        weigh(atom_weight_ * (std::max<std::size_t>(times, 1) - 1));
        const auto add = [&](const std::string& counts) {
            weigh(0);
            if (!out_->too_large) {
                re2 += atom + counts;
            }
            return !out_->too_large;
        };
        const auto counts = [](std::uint32_t from, std::uint32_t to) {
            return "{" + std::to_string(from) + "," + std::to_string(to) + "}";
        };
        if (least == 0 && most == unlimited) {
            add("*");
            return;
        }
        std::uint32_t left = least;
        for (; left > re2_repeat_max; left -= re2_repeat_max) {
            if (!add(counts(re2_repeat_max, re2_repeat_max))) {
                return;
            }
        }
        if (most == unlimited) {
            add(left == 0 ? "*" : "{" + std::to_string(left) + ",}");
            return;
        }
        std::uint32_t more = most - least;
        const std::uint32_t now = std::min(more, re2_repeat_max - left);
        if (!add(counts(left, left + now))) {
            return;
        }
        for (more -= now; more > 0; more -= std::min(more, re2_repeat_max)) {
            if (!add(counts(0, std::min(more, re2_repeat_max)))) {
                return;
            }
        }
    }

    void begin_set() {
        set_.clear();
        properties_.clear();
    }
    void add(std::uint32_t first, std::uint32_t last) {
        if (out_ != nullptr) {
            set_.emplace_back(first, last);
        }
    }
    template <std::size_t Count>
    void add(const code_range (&ranges)[Count], bool inverted = false) {
        if (out_ == nullptr) {
            return;
        }
        std::vector<code_range> all(std::begin(ranges), std::end(ranges));
        normalise(all, inverted);
        set_.insert(set_.end(), all.begin(), all.end());
    }

    // Writes the set as an atom.
    void end_set(bool inverted) {
        repeatable_ = true;
        if (out_ == nullptr) {
            return;
        }
        std::string& re2 = out_->re2;
        atom_ = re2.size();
        const bool turned = inverted && properties_.empty();
        normalise(set_, turned);
        if (set_.empty() && properties_.empty()) {
            re2 += "[^\\x{0}-\\x{10FFFF}]";
        } else {
            re2 += inverted && !turned ? "[^" : "[";
            for (const auto& [first, last] : set_) {
                write_code(first);
                if (last > first) {
                    re2 += '-';
                    write_code(last);
                }
            }
            re2 += properties_;
            re2 += ']';
        }
        out_->plain = out_->plain && properties_.empty();
        if (out_->plain) {
            out_->pieces.push_back(pattern_piece{set_, 1, 1});
        }
        atom_weight_ = 1 + set_.size();
        weigh(atom_weight_);
    }

    void weigh(std::size_t more) {
        constexpr std::size_t enough = 1'000'000'000;  // whose product with a count still fits
        out_->weight = std::min(out_->weight + more, enough);
        out_->too_large = out_->too_large || out_->weight > pattern_weight_max ||
                          out_->re2.size() > re2_bytes_max;
    }

    void write_code(std::uint32_t code) {
        char hex[8];
        const auto done = std::to_chars(hex, hex + sizeof hex, code, 16);
        out_->re2 += "\\x{";
        out_->re2.append(hex, done.ptr);
        out_->re2 += '}';
    }

    void read_character() {
        begin_set();
        if (text_[at_] != '\\') {
            const std::uint32_t code = decode_utf8(text_, at_);
            add(code, code);
            return end_set(false);
        }
        ++at_;
        if (take("b")) {
            return structure("\\b");
        }
        if (take("B")) {
            return structure("\\B");
        }
        if (at_ < text_.size() && text_[at_] >= '1' && text_[at_] <= '9') {
            while (at_ < text_.size() && base::is_digit(text_[at_])) {
                ++at_;
            }
            return back_reference();
        }
        if (take("k<")) {
            const std::size_t end = text_.find('>', at_);
            if (end == std::string_view::npos || end == at_) {
                fail("has a malformed group name");
                return;
            }
            at_ = end + 1;
            return back_reference();
        }
        const item one = read_escape(false);
        if (!one.is_set) {
            add(one.code, one.code);
        }
        end_set(false);
    }

    void back_reference() {
        repeatable_ = true;
        unsupported("uses a back-reference, which RE2 does not have");
    }

    // Behind a backslash. Sets are added at once.
    item read_escape(bool in_class) {
        item out;
        if (at_ == text_.size()) {
            fail("ends in a backslash");
            return out;
        }
        const char c = text_[at_++];
        out.is_set = true;
        switch (c) {
            case 'd':
            case 'D':
                add(digits, c == 'D');
                return out;
            case 'w':
            case 'W':
                add(words, c == 'W');
                return out;
            case 's':
            case 'S':
                add(spaces, c == 'S');
                return out;
            case 'p':
            case 'P':
                read_property(c == 'P');
                return out;
            default:
                break;
        }
        out.is_set = false;
        out.code = read_code_escape(c, in_class);
        return out;
    }

    std::uint32_t read_code_escape(char c, bool in_class) noexcept {
        switch (c) {
            case 't':
                return '\t';
            case 'n':
                return '\n';
            case 'v':
                return '\v';
            case 'f':
                return '\f';
            case 'r':
                return '\r';
            case 'b':
                if (in_class) {
                    return '\b';
                }
                break;
            case '0':
                if (at_ == text_.size() || !base::is_digit(text_[at_])) {
                    return 0;
                }
                break;
            case 'c':
                if (at_ < text_.size() && base::is_alpha(text_[at_])) {
                    return static_cast<std::uint32_t>(text_[at_++]) % 32;
                }
                break;
            case 'x':
                return read_hex(2);
            case 'u':
                return read_unicode();
            default:
                if (punctuation.find(c) != std::string_view::npos) {
                    return static_cast<unsigned char>(c);
                }
                break;
        }
        fail("has an escape that ECMA-262 does not know");
        return 0;
    }

    std::uint32_t read_hex(std::size_t count) noexcept {
        std::uint32_t code = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const int digit = at_ < text_.size() ? base::hex_digit(text_[at_]) : -1;
            if (digit < 0) {
                fail("has a malformed hexadecimal escape");
                return 0;
            }
            code = code * 16 + static_cast<std::uint32_t>(digit);
            ++at_;
        }
        return code;
    }

    // \uXXXX, a pair of them for what is beyond U+FFFF, or \u{X…}.
    std::uint32_t read_unicode() noexcept {
        if (take("{")) {
            std::uint32_t code = 0;
            const std::size_t first = at_;
            while (at_ < text_.size() && base::hex_digit(text_[at_]) >= 0 &&
                   code <= code_point_max) {
                code = code * 16 + static_cast<std::uint32_t>(base::hex_digit(text_[at_++]));
            }
            if (at_ == first || code > code_point_max || !take("}")) {
                fail("has a malformed hexadecimal escape");
                return 0;
            }
            return code;
        }
        const std::uint32_t high = read_hex(4);
        if (high >= 0xD800 && high < 0xDC00 && take("\\u")) {
            const std::uint32_t low = read_hex(4);
            if (low < 0xDC00 || low > 0xDFFF) {
                fail("has half a surrogate pair");
                return 0;
            }
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        }
        return high;
    }

    // \p{Name} or \p{Type=Name}, behind the p.
    void read_property(bool inverted) {
        const std::size_t end = text_.find('}', at_);
        if (!take("{") || end == std::string_view::npos) {
            fail("has a malformed property");
            return;
        }
        const std::string_view inside = text_.substr(at_, end - at_);
        at_ = end + 1;
        const std::size_t sign = inside.find('=');
        const std::string_view type =
            sign == std::string_view::npos ? std::string_view() : inside.substr(0, sign);
        const std::string_view name = inside.substr(sign + 1);
        const auto is_name = [](char c) { return base::is_alnum(c) || c == '_'; };
        if (name.empty() || !std::all_of(name.begin(), name.end(), is_name)) {
            fail("has a malformed property");
            return;
        }
        if (out_ == nullptr) {
            return;
        }
        if (type.empty() && (name == "ASCII" || name == "ASCII_Hex_Digit" || name == "AHex")) {
            constexpr code_range ascii[] = {{0, 0x7F}};
            constexpr code_range hex[] = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
            return name == "ASCII" ? add(ascii, inverted) : add(hex, inverted);
        }
        const std::string_view re2 = re2_property(type, name);
        if (re2.empty()) {
            fail("uses a Unicode property that RE2 does not have");
        } else if (re2 == "LC") {
            properties_ += "\\p{Lu}\\p{Ll}\\p{Lt}";
            if (inverted) {
                fail("uses a Unicode property that RE2 does not have");
            }
        } else {
            properties_ += std::string(inverted ? "\\P{" : "\\p{") + std::string(re2) + "}";
        }
    }

    item read_class_item() {
        if (text_[at_] == '\\') {
            ++at_;
            return read_escape(true);
        }
        item one;
        one.code = decode_utf8(text_, at_);
        return one;
    }

    void read_class() {
        ++at_;
        begin_set();
        const bool inverted = take("^");
        while (fault_ == nullptr && at_ < text_.size() && text_[at_] != ']') {
            const item low = read_class_item();
            const bool range = at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
            if (!range || low.is_set) {
                if (!low.is_set) {
                    add(low.code, low.code);
                }
                continue;
            }
            ++at_;
            const item high = read_class_item();
            if (high.is_set) {
                add(low.code, low.code);
                add('-', '-');
            } else if (high.code < low.code) {
                fail("has a range out of order");
            } else {
                add(low.code, high.code);
            }
        }
        if (!take("]")) {
            fail("has a class without an end");
            return;
        }
        end_set(inverted);
    }

    std::string_view text_;
    translation* out_;
    std::size_t at_ = 0;
    const char* fault_ = nullptr;
    bool repeatable_ = false;  // an atom stands right before
    bool not_plain_ = false;
    std::size_t atom_ = 0;  // where it begins in the text for RE2
    std::size_t atom_weight_ = 0;
    int depth_ = 0;
    std::size_t starts_[groups_max] = {};
    std::size_t weights_[groups_max] = {};
    bool assertions_[groups_max] = {};
    std::vector<code_range> set_;
    std::string properties_;
};

}  // namespace

bool translate_pattern(std::string_view pattern, translation& out, std::string& fault) {
    reader one(pattern, &out);
    if (!one.read()) {
        fault = one.fault();
        return false;
    }
    return true;
}

bool is_ecma_pattern(std::string_view pattern) noexcept { return reader(pattern, nullptr).read(); }

}  // namespace pillion::schema_check
