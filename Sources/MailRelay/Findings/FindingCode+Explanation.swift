extension FindingCode {
    /// Why the finding matters, for readers who meet it for the first time.
    package var explanation: String {
        switch self {
        case .spfMissing: "Without a policy at the envelope domain the SPF path to Apple's relay does not exist."
        case .spfSeveral: "Receivers must treat two policies as an error, so neither counts."
        case .spfSyntax: "One mistake anywhere invalidates the whole policy, including the part before it."
        case .spfLookalike: "The text is meant as a policy, but receivers do not recognise it as one."
        case .spfNotAuthorized: "The provider sends from addresses that the policy does not name."
        case .spfPartly: "Some of the provider's addresses pass and others do not: mail gets lost now and then."
        case .spfTooManyTerms: "Receivers stop after ten terms that need lookups and call the policy an error."
        case .spfTermsWorstCase:
            "This provider is found before the limit; a sender further down the policy is not, and one more include may break it."
        case .spfTooManyVoids: "Receivers stop after two lookups that find nothing and call the policy an error."
        case .spfVoidsWorstCase: "Names in the policy no longer exist; with one or two more, the policy is an error."
        case .spfTooManyExchangers: "Receivers look at no more than ten mail exchangers of one name."
        case .spfTargetWithoutPolicy:
            "An include without a policy behind it is an error for the policy that holds it, and lists no addresses of a provider."
        case .spfUnknown: "DNS did not answer; nothing is known, and the verdict has not changed."
        case .spfAnyone: "The policy lets the whole Internet send in this domain's name; spam filters treat it as none."
        case .spfNoAll: "Without “all” or “redirect” at its end the policy says nothing about strangers."
        case .spfNeutralAll: "“?all” says nothing about strangers."
        case .spfPtr: "Slow, unreliable, and not to be used."
        case .spfAfterAll: "Terms behind “all” are never reached."
        case .spfRedirectIgnored: "“redirect” counts only in a policy without “all”."
        case .spfUnknownModifier: "Unknown modifiers are ignored; it may be a typing mistake."
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
        case .dkimSeveral: "Which of several records a receiver uses is not defined."
        case .dkimSyntax, .dkimVersion, .dkimBase64, .dkimBadKey:
            "Receivers cannot use this record, so signatures do not verify."
        case .dkimRevoked: "An empty key says that it was withdrawn; signatures with it are invalid."
        case .dkimKeyType: "The key is of another type than the record says, or of an unknown type."
        case .dkimTooShort: "Receivers must not accept RSA keys under 1024 bits."
        case .dkimShort: "Keys under 2048 bits are accepted today and should be replaced."
        case .dkimBareKey: "Some receivers expect the key wrapped as SubjectPublicKeyInfo and fail on a bare one."
        case .dkimHash: "The record forbids the hash that signatures use (sha256)."
        case .dkimService: "The record forbids the key's use for mail."
        case .dkimTesting:
            "“t=y” asks receivers to treat signed mail as if it were not signed; what Apple's relay does with it is not known."
        case .dkimEd25519Only:
            "It is not known whether Apple verifies Ed25519; publish an RSA key beside it and sign with both."
        case .dkimUnexpectedKey: "The key published is not the one the provider signs with."
        case .dkimUnexpectedTarget: "The alias leads elsewhere than the provider said."
        case .dkimOtherDomain:
            "Apple's relay compares the signing domain with the From domain; another domain's signature does not count."
        case .dkimUnknown, .dmarcUnknown, .mxUnknown:
            "DNS did not answer; nothing is known, and the verdict has not changed."
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
        case .dmarcReportsRefused: "The receiver of reports has not agreed to accept them, so none are sent."
        case .dmarcSuffixList: "Receivers that still use the public suffix list may take another organisational domain."
        case .mxNull:
            "The domain says that it accepts no mail: bounces and replies are lost, and receivers may refuse what it "
                + "sends."
        case .mxNullBesideOthers: "“No mail” beside real exchangers contradicts itself."
        case .mxNone:
            "The domain accepts no mail: bounces and replies are lost, receivers may refuse what it sends, as if it "
                + "did not exist, and some providers then change the envelope domain."
        case .mxImplicit:
            "Without an exchanger mail goes to the address of the name itself, and some providers then change the envelope domain; "
                + "say by a record where it goes."
        case .mxAlias: "An exchanger must be a name with addresses, not an alias."
        case .mxAddress: "An exchanger must be a name, not an address."
        case .mxDead:
            "No exchanger has an address: bounces and replies are lost, and some providers then change the envelope domain."
        case .dnsBogus:
            "Receivers that validate DNSSEC get no answer, others do. Sign the zone anew, or take its DS record out of the zone above."
        case .nameMissing: "Receivers refuse mail from a domain that does not exist, whatever signs it."
        case .envelopeTarget: "The provider expects the envelope domain to be an alias of its own name."
        case .appleNotRegistered:
            "Apple's relay drops mail from sources that are not registered, whatever SPF and DKIM say. Registration is "
                + "known only from --registered, for a stream with relay stream add --replace."
        case .appleNotStated:
            "Registration with Apple can be seen neither in DNS nor through an API: state it with the stream."
        case .checkCut: "The check does not cover everything; what it did not try may differ."
        }
    }
}
