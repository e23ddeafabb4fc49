#include "schema/plain_pattern.hpp"

namespace pillion::schema_check {

std::optional<plain_pattern> plain_pattern::make(const translation& from) {
    plain_pattern out;
    out.from_start_ = from.from_start;
    out.to_end_ = from.to_end;
    for (const pattern_piece& one : from.pieces) {
        if (one.most > 0) {
            out.pieces_.push_back(piece{code_set(one.ranges), one.least, one.most});
        }
    }
    // Anywhere in a text, only one piece is found without going back.
    const bool anywhere = !from.from_start && (from.to_end || out.pieces_.size() > 1);
    if (!from.plain || anywhere) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < out.pieces_.size(); ++i) {
        const piece& one = out.pieces_[i];
        if (one.least == one.most) {
            continue;
        }
        for (std::size_t j = i + 1; j < out.pieces_.size(); ++j) {
            if (one.set.meets(out.pieces_[j].set)) {
                return std::nullopt;
            }
            if (out.pieces_[j].least > 0) {
                break;
            }
        }
    }
    return out;
}

bool plain_pattern::matches_at(std::string_view text, std::size_t at) const noexcept {
    for (const piece& one : pieces_) {
        std::uint32_t count = 0;
        while (count < one.most && at < text.size()) {
            const auto c = static_cast<unsigned char>(text[at]);
            std::size_t behind = at + 1;
            if (c < 0x80 ? !one.set.has_ascii(c)
                         : (behind = at, !one.set.has(decode_utf8(text, behind)))) {
                break;
            }
            at = behind;
            ++count;
        }
        if (count < one.least) {
            return false;
        }
    }
    return !to_end_ || at == text.size();
}

bool plain_pattern::matches(std::string_view text) const noexcept {
    if (from_start_ || pieces_.empty()) {
        return matches_at(text, 0);
    }
    // One piece anywhere: a run of its characters that is long enough.
    const piece& one = pieces_.front();
    std::uint32_t run = 0;
    for (std::size_t at = 0; at < text.size() && run < one.least;) {
        run = one.set.has(decode_utf8(text, at)) ? run + 1 : 0;
    }
    return run >= one.least;
}

}  // namespace pillion::schema_check
