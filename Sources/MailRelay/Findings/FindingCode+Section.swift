extension FindingCode {
    /// The document and section that state the rule.
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
        case .checkCut: "this check's own limits"
        }
    }
}
