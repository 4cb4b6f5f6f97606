/// The meaning of a refusal by Apple's servers, and who can fix it.
package struct BounceExplanation: Sendable, Hashable {
    /// Which known text the refusal matches.
    package let code: Code
    /// Who can do something about it.
    package let cause: Cause
    /// What the refusal means, in one or two sentences.
    package let meaning: String
    /// What to do.
    package let action: String
    /// Whether the recipient's address must be kept because the fault is not the recipient's.
    package let keepsRecipient: Bool
    /// How reliable this explanation is.
    package let source: String

    /// Who can do something about a refusal.
    package enum Cause: String, Sendable, Hashable, CaseIterable {
        /// The sender's records, registration or sending.
        case configuration
        /// The recipient's address or choice.
        case recipient
        /// Too much mail, or too bad a reputation.
        case load
        /// The text is not a known one.
        case unknown
    }

    /// The known refusal texts; raw values are an interface for scripts.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The source is not registered with Apple.
        case unauthorizedSender = "unauthorized_sender"
        /// The older text for an unregistered source.
        case badMailboxName = "bad_mailbox_name"
        /// The relay address is gone.
        case userNotFound = "user_not_found"
        /// Both SPF and DKIM fail.
        case bothPathsFailed = "spf_and_dkim_failed"
        /// The From domain's own policy refuses.
        case dmarcPolicy = "dmarc_policy"
        /// The relay could not map the mail.
        case transformationError = "transformation_error"
        /// The recipient has switched forwarding off.
        case relayNotPermitted = "relay_not_permitted"
        /// The envelope domain does not exist.
        case senderDomainNotFound = "sender_domain_not_found"
        /// The address of the envelope sender does not exist.
        case senderNotFound = "sender_not_found"
        /// The sender sends too much mail.
        case excessiveVolume = "excessive_volume"
        /// Apple's local policy refuses the mail because of the sender's reputation.
        case localPolicy = "local_policy"
        /// The mailbox is full.
        case mailboxFull = "mailbox_full"
        /// Anything else.
        case unrecognized = "unrecognized"
    }
}

extension BounceExplanation {
    /// The explanation of a known text.
    init(_ code: Code) {
        self.code = code
        switch code {
        case .unauthorizedSender, .badMailboxName:
            cause = .configuration
            meaning = "The sender is not registered with Apple, or the address belongs to another team's app."
            action =
                "Register the envelope domain and the From domain under Services, Sign in with Apple for Email Communication; "
                + "then run “relay check”. Do not suppress the recipient."
            keepsRecipient = true
            source = code == .unauthorizedSender ? "Apple developer forums 798226" : "reported by senders"
        case .userNotFound:
            cause = .recipient
            meaning = "The relay address no longer exists or was switched off for good."
            action = "Stop mailing this address and ask for another one in the app."
            keepsRecipient = false
            source = "reported by senders"
        case .bothPathsFailed:
            cause = .configuration
            meaning = "The mail passed neither SPF nor DKIM."
            action = "Run “relay check” for this stream and fix what it reports. Do not suppress the recipient."
            keepsRecipient = true
            source = "reported by senders (code HME1)"
        case .dmarcPolicy:
            cause = .configuration
            meaning = "The From domain's own DMARC policy refuses this mail: nothing that passes belongs to it."
            action = "Sign with the From domain or use an envelope domain of the same organisation; see “relay check”."
            keepsRecipient = true
            source = "reported by senders"
        case .transformationError:
            cause = .configuration
            meaning =
                "The relay could not map the mail to its recipient: registration is incomplete, or Apple has a fault."
            action = "Check the registration of both domains; if it is complete, try again later and ask Apple."
            keepsRecipient = true
            source = "reported by senders, second hand"
        case .relayNotPermitted:
            cause = .recipient
            meaning = "The person has switched forwarding off."
            action = "Hold mail to this address until Apple reports that forwarding is on again."
            keepsRecipient = false
            source = "reported by senders, second hand"
        case .senderDomainNotFound:
            cause = .configuration
            meaning = "The envelope domain does not exist in DNS, or nothing there accepts mail."
            action = "Publish the envelope domain's records, a mail exchanger among them; see “relay check”."
            keepsRecipient = true
            source = "reported by senders"
        case .senderNotFound:
            cause = .configuration
            meaning =
                "The envelope domain's own server says that the envelope address does not exist; the recipient is not meant."
            action =
                "Make the envelope domain accept mail for that address, which bounces go to. Do not suppress the "
                + "recipient."
            keepsRecipient = true
            source = "texts of Postfix and Exim"
        case .excessiveVolume:
            cause = .load
            meaning = "Too much mail at once, or over the limit of 100 mails a day and address."
            action = "Slow down and send again later."
            keepsRecipient = true
            source = "reported by senders"
        case .localPolicy:
            cause = .load
            meaning = "Apple's servers refuse this sender for its reputation or its content."
            action =
                "Look at complaint rates and content, and at a block list that the text names; send less for a while. "
                + "Ask Apple's postmaster if it persists."
            keepsRecipient = true
            source = "reported by senders (code CS01, Spamhaus, Proofpoint)"
        case .mailboxFull:
            cause = .recipient
            meaning = "The mailbox behind the relay address is full."
            action = "Try again later."
            keepsRecipient = true
            source = "RFC 3463"
        case .unrecognized:
            cause = .unknown
            meaning = "The text is not a known answer of Apple's relay."
            action =
                "Read the text itself: a reply that begins with 4 may be tried again, one that begins with 5 may "
                + "not."
            keepsRecipient = true
            source = "none"
        }
    }
}
