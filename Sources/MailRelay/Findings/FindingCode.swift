/// The kinds of findings; their raw values are an interface for scripts and never change meaning.
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
    /// How much findings of this kind matter unless a check knows better.
    package var severity: Finding.Severity {
        switch self {
        case .spfMissing, .spfSeveral, .spfSyntax, .spfNotAuthorized, .spfTooManyTerms, .spfTooManyVoids,
            .spfTooManyExchangers, .spfTargetWithoutPolicy, .dkimMissing, .dkimDangling, .dkimSeveral, .dkimSyntax,
            .dkimVersion, .dkimRevoked, .dkimBase64, .dkimBadKey, .dkimKeyType, .dkimTooShort, .dkimHash, .dkimService,
            .dkimUnexpectedKey, .dkimOtherDomain, .nameMissing, .appleNotRegistered:
            .broken
        case .spfUnknown, .spfSenderUnstated, .spfCannotEnumerate, .dkimNoSelectors, .dkimUnknown, .dmarcUnknown,
            .mxUnknown, .dnsBogus:
            .unknown
        case .spfPartly, .spfAnyone, .dkimShort, .dkimBareKey, .dkimTesting, .dkimEd25519Only, .dkimUnexpectedTarget,
            .dmarcNotAligned, .mxNull, .mxNone, .mxDead, .envelopeTarget:
            .weak
        default:
            .advice
        }
    }

    /// Where the rule stands.
    package var section: String {
        switch self {
        case .spfMissing, .spfSeveral: "RFC 7208, 3.2 and 4.5"
        case .spfSyntax, .spfLookalike: "RFC 7208, 4.6 and 12"
        case .spfNotAuthorized, .spfPartly, .spfSenderUnstated, .spfCannotEnumerate: "RFC 7208, 4"
        case .spfTooManyTerms, .spfTermsWorstCase, .spfTooManyVoids, .spfVoidsWorstCase, .spfTooManyExchangers:
            "RFC 7208, 4.6.4"
        case .spfTargetWithoutPolicy: "RFC 7208, 5.2 and 6.1"
        case .spfUnknown: "RFC 7208, 2.6.6"
        case .spfAnyone, .spfNoAll, .spfNeutralAll, .spfAfterAll: "RFC 7208, 5.1"
        case .spfRedirectIgnored: "RFC 7208, 6.1"
        case .spfPtr: "RFC 7208, 5.5"
        case .spfUnknownModifier: "RFC 7208, 6"
        case .spfRetiredType: "RFC 7208, 3.1"
        case .spfLarge: "RFC 7208, 3.4"
        case .dkimMissing, .dkimDangling, .dkimSeveral, .dkimUnknown, .dkimNoSelectors: "RFC 6376, 3.6.2"
        case .dkimSyntax, .dkimVersion, .dkimRevoked, .dkimBase64, .dkimBadKey, .dkimKeyType, .dkimBareKey, .dkimHash,
            .dkimService, .dkimTesting, .dkimUnexpectedKey, .dkimUnexpectedTarget:
            "RFC 6376, 3.6.1"
        case .dkimTooShort, .dkimShort: "RFC 8301, 3.2"
        case .dkimEd25519Only: "RFC 8463, 3"
        case .dmarcMissing, .dmarcSeveral, .dmarcUnknown: "RFC 9989, 4.10"
        case .dmarcSyntax, .dmarcSkipped, .dmarcNoPolicy, .dmarcNotEnforced, .dmarcTesting, .dmarcHistoric:
            "RFC 9989, 4.7"
        case .dmarcNotAligned: "RFC 9989, 4.4"
        case .dmarcSuffixList: "RFC 9989, 4.10.2"
        case .dmarcReportsRefused: "RFC 9990, 4"
        case .mxNull, .mxNullBesideOthers: "RFC 7505, 3"
        case .mxNone, .mxImplicit, .mxAlias, .mxAddress, .mxDead, .mxUnknown: "RFC 5321, 5.1"
        case .nameMissing, .envelopeTarget: "RFC 5321, 4.5.5"
        case .dnsBogus: "RFC 4035, 5.5"
        case .dkimOtherDomain, .appleNotRegistered, .appleNotStated: "Apple, Configure private email relay service"
        case .checkCut: "accountctl relay check"
        }
    }

    /// Why it matters, for people who meet it the first time.
    package var explanation: String {
        switch self {
        case .spfMissing: "Without a policy at the envelope domain the SPF path to Apple's relay does not exist."
        case .spfSeveral: "Receivers must treat two policies as an error, so neither counts."
        case .spfSyntax: "One mistake anywhere voids the whole policy, the part before it included."
        case .spfLookalike: "The text is meant as a policy, but receivers do not take it for one."
        case .spfNotAuthorized: "The provider sends from addresses that the policy does not name."
        case .spfPartly: "Some of the provider's addresses pass and others do not: mail gets lost now and then."
        case .spfTooManyTerms: "Receivers stop after ten terms that need lookups and call the policy an error."
        case .spfTermsWorstCase:
            "This provider is found before the limit; a sender further down the policy is not, and one more include may break it."
        case .spfTooManyVoids: "Receivers stop after two lookups that find nothing and call the policy an error."
        case .spfVoidsWorstCase: "Names in the policy have gone; one or two more and the policy is an error."
        case .spfTooManyExchangers: "Receivers look at no more than ten mail exchangers of one name."
        case .spfTargetWithoutPolicy:
            "An include without a policy behind it is an error for the policy that holds it, and lists no addresses of a provider."
        case .spfUnknown: "DNS did not answer; nothing is known, and nothing changed."
        case .spfAnyone: "The policy lets the whole Internet send in this domain's name; spam filters treat it as none."
        case .spfNoAll: "Without “all” or “redirect” at its end the policy says nothing about strangers."
        case .spfNeutralAll: "“?all” says nothing about strangers."
        case .spfPtr: "Slow, unreliable, and not to be used."
        case .spfAfterAll: "Terms behind “all” are never reached."
        case .spfRedirectIgnored: "“redirect” counts only in a policy without “all”."
        case .spfUnknownModifier: "Modifiers nobody knows are ignored; it may be a typing mistake."
        case .spfRetiredType: "Receivers look at TXT only; the other record drifts out of date unseen."
        case .spfLarge: "Large answers need TCP, which not every resolver gets through."
        case .spfSenderUnstated:
            "Whether a policy lets a provider send can only be told with the provider's addresses or its include."
        case .spfCannotEnumerate:
            "The provider's include depends on the sender, so its addresses cannot be listed: state some of them."
        case .dkimNoSelectors: "Keys can be found by selector only; guessing would mislead."
        case .dkimMissing: "Signatures with this selector cannot be verified."
        case .dkimDangling:
            "The alias is there, its target is not: the provider has withdrawn the key or never made it."
        case .dkimSeveral: "Which of several records a receiver takes is not defined."
        case .dkimSyntax, .dkimVersion, .dkimBase64, .dkimBadKey:
            "Receivers cannot use this record, so signatures do not verify."
        case .dkimRevoked: "An empty key says that it was withdrawn; signatures with it are invalid."
        case .dkimKeyType: "The key is of another type than the record says, or of one nobody knows."
        case .dkimTooShort: "Receivers must not accept RSA keys under 1024 bits."
        case .dkimShort: "Keys under 2048 bits are accepted today and should be replaced."
        case .dkimBareKey: "Some receivers expect the key wrapped as SubjectPublicKeyInfo and fail on a bare one."
        case .dkimHash: "The record forbids the hash that signatures use (sha256)."
        case .dkimService: "The record forbids the key's use for mail."
        case .dkimTesting: "“t=y” asks receivers to treat signed mail as if it were not signed."
        case .dkimEd25519Only:
            "Nothing is known of Apple verifying Ed25519; publish an RSA key beside it and sign with both."
        case .dkimUnexpectedKey: "The key published is not the one the provider signs with."
        case .dkimUnexpectedTarget: "The alias leads elsewhere than the provider said."
        case .dkimOtherDomain:
            "Apple's relay compares the signing domain with the From domain; another domain's signature does not count."
        case .dkimUnknown, .dmarcUnknown, .mxUnknown: "DNS did not answer; nothing is known, and nothing changed."
        case .dmarcMissing: "The relay does not ask for DMARC, large mailbox providers do."
        case .dmarcSeveral: "Receivers ignore all of several records."
        case .dmarcSyntax: "Receivers ignore the record."
        case .dmarcSkipped: "Receivers skip what they cannot read; it may have been meant to count."
        case .dmarcNoPolicy: "Without “p” the policy counts as “none”, or as nothing at all."
        case .dmarcNotEnforced: "“p=none” only watches."
        case .dmarcTesting: "“t=y” asks receivers to apply the next milder policy."
        case .dmarcNotAligned:
            "Neither path of this stream counts for the From domain, so its own policy applies to its mail."
        case .dmarcHistoric: "These tags were removed; receivers ignore them."
        case .dmarcReportsRefused: "The receiver of reports has not agreed to take them, so none are sent."
        case .dmarcSuffixList: "Receivers that still use the public suffix list may take another organisational domain."
        case .mxNull: "The domain says that it takes no mail: bounces and replies are lost."
        case .mxNullBesideOthers: "“No mail” beside real exchangers contradicts itself."
        case .mxNone: "The domain takes no mail: bounces and replies are lost."
        case .mxImplicit: "Without an exchanger mail goes to the address of the name itself; say so by a record."
        case .mxAlias: "An exchanger must be a name with addresses, not an alias."
        case .mxAddress: "An exchanger must be a name, not an address."
        case .mxDead:
            "No exchanger has an address: bounces and replies are lost, and some providers then change the envelope domain."
        case .dnsBogus:
            "Receivers that validate DNSSEC get no answer, others do. Sign the zone anew, or take its DS record out of the zone above."
        case .nameMissing: "Receivers refuse mail from a domain that does not exist."
        case .envelopeTarget: "The provider expects the envelope domain to be an alias of its own name."
        case .appleNotRegistered:
            "Apple's relay drops mail from sources that are not registered, whatever SPF and DKIM say."
        case .appleNotStated:
            "Registration with Apple can be seen neither in DNS nor through an API: state it with the stream."
        case .checkCut: "There is more than the check looks at; what it did not try may be otherwise."
        }
    }
}
