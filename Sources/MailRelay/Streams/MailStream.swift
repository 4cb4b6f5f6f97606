/// One way in which an app sends mail: its From and envelope domains, its provider and its signing domain.
package struct MailStream: Sendable, Hashable {
    /// The operator's name for the stream.
    package var name: String
    /// The domain that recipients see.
    package var fromDomain: DomainName
    /// The domain of the envelope sender (return path), whose SPF policy applies.
    package var envelopeDomain: DomainName
    /// The domain that signs (`d=`).
    package var signingDomain: DomainName
    /// The provider that sends the mail.
    package var provider: Provider
    /// The selectors that the provider signs with.
    package var selectors: [Selector]
    /// The registration with Apple, as the operator states it.
    package var registration: Registration

    /// The provider that sends the mail.
    package struct Provider: Sendable, Hashable {
        /// The provider's name, if stated.
        package var name: String?
        /// The names whose SPF policies list the provider's addresses.
        package var includes: [DomainName]
        /// The name that the envelope domain must be an alias of, if the provider requires one.
        package var returnPathTarget: DomainName?
        /// The addresses that the provider sends from.
        package var addresses: [IPNetwork]

        /// A provider; every argument is optional.
        package init(
            name: String? = nil,
            includes: [DomainName] = [],
            returnPathTarget: DomainName? = nil,
            addresses: [IPNetwork] = []
        ) {
            self.name = name
            self.includes = includes
            self.returnPathTarget = returnPathTarget
            self.addresses = addresses
        }
    }

    /// One DKIM selector.
    package struct Selector: Sendable, Hashable {
        /// The labels before `._domainkey`.
        package var name: String
        /// The name that the selector must be an alias of, if the provider hosts the key.
        package var target: DomainName?
        /// The base64 text that `p` must hold.
        package var key: String?

        /// A selector.
        package init(_ name: String, target: DomainName? = nil, key: String? = nil) {
            self.name = name
            self.target = target
            self.key = key
        }
    }

    /// The names stated to be registered in Apple's portal, which offers no way to look them up.
    package enum Registration: Sendable, Hashable {
        /// Nothing was stated; verdicts then assume that the source is registered.
        case notStated
        /// Exactly these names are registered.
        case names([DomainName])
    }

    /// Creates a stream; envelope and signing domain default to the From domain.
    package init(
        name: String,
        fromDomain: DomainName,
        envelopeDomain: DomainName? = nil,
        signingDomain: DomainName? = nil,
        provider: Provider = Provider(),
        selectors: [Selector] = [],
        registration: Registration = .notStated
    ) {
        self.name = name
        self.fromDomain = fromDomain
        self.envelopeDomain = envelopeDomain ?? fromDomain
        self.signingDomain = signingDomain ?? fromDomain
        self.provider = provider
        self.selectors = selectors
        self.registration = registration
    }

    /// Whether a name is registered according to the operator; nil if nothing was stated.
    ///
    /// A registration does not extend to sub-domains (Apple).
    func isRegistered(_ name: DomainName) -> Bool? {
        switch registration {
        case .notStated: nil
        case .names(let names): names.contains(name)
        }
    }
}
