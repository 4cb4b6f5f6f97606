/// The kinds of findings; their raw values are an interface for scripts, and their meaning never changes.
package enum FindingCode: String, Sendable, Hashable, CaseIterable {
    // SPF of the envelope domain
    case spfMissing = "spf.missing"
    case spfSeveral = "spf.several_policies"
    case spfSyntax = "spf.syntax"
    case spfLookalike = "spf.lookalike"
    case spfNotAuthorized = "spf.not_authorized"
    case spfPartly = "spf.partly_authorized"
    case spfTooManyTerms = "spf.too_many_terms"
    case spfTermsWorstCase = "spf.terms_worst_case"
    case spfTooManyVoids = "spf.too_many_voids"
    case spfVoidsWorstCase = "spf.voids_worst_case"
    case spfTooManyExchangers = "spf.too_many_exchangers"
    case spfTargetWithoutPolicy = "spf.target_without_policy"
    case spfUnknown = "spf.unknown"
    case spfAnyone = "spf.anyone_may_send"
    case spfNoAll = "spf.no_all"
    case spfNeutralAll = "spf.neutral_all"
    case spfPtr = "spf.ptr"
    case spfAfterAll = "spf.terms_after_all"
    case spfRedirectIgnored = "spf.redirect_ignored"
    case spfUnknownModifier = "spf.unknown_modifier"
    case spfRetiredType = "spf.retired_type"
    case spfLarge = "spf.large"
    case spfSenderUnstated = "spf.sender_not_stated"
    case spfCannotEnumerate = "spf.cannot_enumerate"
    // DKIM keys
    case dkimNoSelectors = "dkim.no_selectors"
    case dkimMissing = "dkim.missing"
    case dkimDangling = "dkim.dangling_alias"
    case dkimSeveral = "dkim.several_records"
    case dkimSyntax = "dkim.syntax"
    case dkimVersion = "dkim.version"
    case dkimRevoked = "dkim.revoked"
    case dkimBase64 = "dkim.base64"
    case dkimBadKey = "dkim.bad_key"
    case dkimKeyType = "dkim.key_type"
    case dkimTooShort = "dkim.key_too_short"
    case dkimShort = "dkim.key_short"
    case dkimBareKey = "dkim.bare_rsa_key"
    case dkimHash = "dkim.hash_restricted"
    case dkimService = "dkim.service_restricted"
    case dkimTesting = "dkim.testing"
    case dkimEd25519Only = "dkim.ed25519_only"
    case dkimUnexpectedKey = "dkim.unexpected_key"
    case dkimUnexpectedTarget = "dkim.unexpected_target"
    case dkimOtherDomain = "dkim.other_domain"
    case dkimUnknown = "dkim.unknown"
    // DMARC of the From domain
    case dmarcMissing = "dmarc.missing"
    case dmarcSeveral = "dmarc.several_records"
    case dmarcSyntax = "dmarc.syntax"
    case dmarcSkipped = "dmarc.skipped_parts"
    case dmarcNoPolicy = "dmarc.no_policy"
    case dmarcNotEnforced = "dmarc.not_enforced"
    case dmarcTesting = "dmarc.testing"
    case dmarcNotAligned = "dmarc.not_aligned"
    case dmarcHistoric = "dmarc.historic_tags"
    case dmarcReportsRefused = "dmarc.reports_refused"
    case dmarcSuffixList = "dmarc.suffix_list_may_differ"
    case dmarcUnknown = "dmarc.unknown"
    // Mail exchangers and the names themselves
    case mxNull = "mx.null"
    case mxNullBesideOthers = "mx.null_beside_others"
    case mxNone = "mx.none"
    case mxImplicit = "mx.implicit"
    case mxAlias = "mx.alias"
    case mxAddress = "mx.address"
    case mxDead = "mx.dead"
    case mxUnknown = "mx.unknown"
    case nameMissing = "name.missing"
    case envelopeTarget = "envelope.unexpected_target"
    case dnsBogus = "dns.bogus_signatures"
    // Registration with Apple
    case appleNotRegistered = "apple.not_registered"
    case appleNotStated = "apple.registration_not_stated"
    // The check itself
    case checkCut = "check.cut"
}

extension FindingCode {
    /// The default severity of findings of this kind.
    var severity: Finding.Severity {
        switch self {
        case .spfMissing, .spfSeveral, .spfSyntax, .spfNotAuthorized, .spfTooManyTerms, .spfTooManyVoids,
            .spfTooManyExchangers, .spfTargetWithoutPolicy, .dkimMissing, .dkimDangling, .dkimSeveral, .dkimSyntax,
            .dkimVersion, .dkimRevoked, .dkimBase64, .dkimBadKey, .dkimKeyType, .dkimTooShort, .dkimHash, .dkimService,
            .dkimUnexpectedKey, .dkimOtherDomain, .nameMissing, .appleNotRegistered:
            .broken
        case .spfUnknown, .spfSenderUnstated, .spfCannotEnumerate, .dkimNoSelectors, .dkimTesting, .dkimUnknown,
            .dmarcUnknown, .mxUnknown, .dnsBogus:
            .unknown
        case .spfPartly, .spfAnyone, .dkimShort, .dkimBareKey, .dkimEd25519Only, .dkimUnexpectedTarget,
            .dmarcNotAligned, .mxNull, .mxNone, .mxDead, .envelopeTarget:
            .weak
        case .spfLookalike, .spfTermsWorstCase, .spfVoidsWorstCase, .spfNoAll, .spfNeutralAll, .spfPtr, .spfAfterAll,
            .spfRedirectIgnored, .spfUnknownModifier, .spfRetiredType, .spfLarge, .dmarcMissing, .dmarcSeveral,
            .dmarcSyntax, .dmarcSkipped, .dmarcNoPolicy, .dmarcNotEnforced, .dmarcTesting, .dmarcHistoric,
            .dmarcReportsRefused, .dmarcSuffixList, .mxNullBesideOthers, .mxImplicit, .mxAlias, .mxAddress,
            .appleNotStated, .checkCut:
            .advice
        }
    }
}
