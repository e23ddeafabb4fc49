#include "auth/authenticator.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace pillion::auth {

namespace {

// What no issuer's name may hold, so that no two principals have the same name.
constexpr char between = '|';

std::shared_ptr<identity> remember(std::string principal, const scope_list& scopes,
                                   std::int64_t good_until_s, std::string_view token) {
    auto made = std::make_shared<identity>();
    made->principal = std::move(principal);
    made->scopes = joined(scopes);
    made->good_until_s = good_until_s;
    made->token = token;
    return made;
}

}  // namespace

std::unique_ptr<authenticator> authenticator::make(const auth_options& options, std::string& fault,
                                                   std::size_t& index,
                                                   std::shared_ptr<key_board> board) {
    std::unique_ptr<authenticator> made(new authenticator(options.with_secrets));
    made->tokens_ = options.tokens;
    made->api_keys_ = options.api_keys;
    index = 0;
    for (const auth_options::issuer& one : options.issuers) {
        if (one.rules.issuer.empty() || one.rules.issuer.find(between) != std::string::npos) {
            fault = "the name of an issuer is not empty, and holds no |";
            return nullptr;
        }
        const auto is_twin = [&one](const auto& other) {
            return other.rules.issuer == one.rules.issuer;
        };
        if (std::find_if(options.issuers.begin(), options.issuers.end(), is_twin) !=
            options.issuers.begin() + static_cast<std::ptrdiff_t>(index)) {
            fault = "the issuer is given twice: all its keys belong into one set";
            return nullptr;
        }
        if (one.rules.audiences.empty()) {
            fault = "an issuer needs an audience";
            return nullptr;
        }
        auto keys =
            one.source.empty() ? jwk_set::parse(one.keys, options.with_secrets, fault) : nullptr;
        if (keys == nullptr && one.source.empty()) {
            return nullptr;
        }
        made->jwts_.add(one.rules, std::move(keys));
        if (!one.source.empty()) {
            made->fetched_.push_back({index, {one.rules.issuer, one.source}, nullptr});
        }
        ++index;
    }
    made->has_issuers_ = !options.issuers.empty();
    made->refused_.resize(options.introspection != nullptr ? slots : 0);
    made->board_ = std::move(board);
    made->take_keys();
    return made;
}

bool authenticator::take_keys() {
    bool any = false;
    for (fetched_keys& one : fetched_) {
        any = take(one) || any;
    }
    return any;
}

bool authenticator::take(fetched_keys& one) {
    const key_board::text now = board_ != nullptr ? board_->keys(one.source) : nullptr;
    if (now == one.held) {
        return false;
    }
    one.held = now;
    std::string fault;
    // It was tried before it was published.
    jwts_.change_keys(one.issuer,
                      now != nullptr ? jwk_set::parse(*now, with_secrets_, fault) : nullptr);
    remembered_.forget_issuer(one.issuer);
    return true;
}

authenticator::answer authenticator::judge_opaque(std::string_view token,
                                                  std::int64_t now_s) const {
    if (token.size() < token_list::token_bytes_min ||
        token.size() > jwt_verifier::token_bytes_max) {
        return {nullptr, token_fault::malformed};
    }
    const std::uint64_t hash = base::siphash13(token, base::process_hash_key());
    const refusal& known = refused_[hash % slots];
    return {nullptr,
            known.hash == hash && now_s < known.until_s ? known.why : token_fault::unasked};
}

void authenticator::learn(std::string_view token, introspection_answer said, std::int64_t now_s) {
    if (said.why == token_fault::none) {
        auto who = remember(std::move(said.principal), said.scopes, said.good_until_s, token);
        who->ends_s = said.ends_s;
        remembered_.keep(std::move(who));
    } else if (!refused_.empty()) {
        const std::uint64_t hash = base::siphash13(token, base::process_hash_key());
        refused_[hash % slots] = {hash, now_s + refused_s, said.why};
    }
}

bool authenticator::want_keys(std::size_t issuer, std::int64_t now_ns) {
    const auto at = std::find_if(fetched_.begin(), fetched_.end(),
                                 [issuer](const auto& one) { return one.issuer == issuer; });
    return at != fetched_.end() && board_ != nullptr && board_->want(at->source, at->held, now_ns);
}

identity_ref authenticator::recall(std::string_view token, std::int64_t now_s,
                                   credential shown_as) {
    identity_ref who = remembered_.find(token, now_s, shown_as);
    known_ += who != nullptr ? 1 : 0;
    return who;
}

authenticator::answer authenticator::check(std::string_view token, std::int64_t now_s,
                                           credential shown_as) {
    if (identity_ref known = recall(token, now_s, shown_as)) {
        return {std::move(known), token_fault::none};
    }
    ++judged_;
    answer found = judge(token, now_s, shown_as);
    if (found.who != nullptr) {
        remembered_.keep(found.who);
    }
    return found;
}

identity_ref authenticator::listed(std::string_view token, std::int64_t now_s,
                                   credential shown_as) const {
    const bool is_key = shown_as == credential::api_key;
    const token_list* const in = is_key ? api_keys_.get() : tokens_.get();
    const opaque_token* const found = in != nullptr ? in->find(token) : nullptr;
    if (found == nullptr) {
        return nullptr;
    }
    auto who = remember((is_key ? "key:" : "token:") + found->name, found->scopes,
                        now_s + remembered_s, token);
    who->kind = shown_as;
    who->listed = true;
    return who;
}

bool authenticator::still_vouches_for(const identity& who) const {
    if (!who.listed) {
        return who.issuer == SIZE_MAX ||
               jwts_.trusts(std::string_view(who.principal).substr(0, who.principal.find(between)));
    }
    const identity_ref now = listed(who.token, 0, who.kind);
    return now != nullptr && now->principal == who.principal && now->scopes == who.scopes;
}

authenticator::answer authenticator::judge(std::string_view token, std::int64_t now_s,
                                           credential shown_as) {
    if (identity_ref who = listed(token, now_s, shown_as)) {
        return {std::move(who), token_fault::none};
    }
    if (shown_as == credential::api_key) {
        return {nullptr, token_fault::unknown};
    }
    if (!has_issuers_ && !refused_.empty()) {
        return judge_opaque(token, now_s);
    }
    jwt_verifier::outcome out = jwts_.check(token, now_s);
    // What is no JWT, or none of ours.
    if (!refused_.empty() &&
        (out.fault == token_fault::malformed || out.fault == token_fault::issuer)) {
        return judge_opaque(token, now_s);
    }
    if (out.fault != token_fault::none) {
        return {nullptr, out.fault, out.issuer};
    }
    // Within the minute by which clocks may differ it is judged each time.
    const std::int64_t until_s = std::min(out.who.expires_s, now_s + remembered_s);
    auto who = remember(out.who.issuer + between + out.who.subject, out.who.scopes, until_s, token);
    who->ends_s = out.who.expires_s + jwt_verifier::skew_s;
    who->issuer = out.issuer;
    return {std::move(who), token_fault::none};
}

}  // namespace pillion::auth
