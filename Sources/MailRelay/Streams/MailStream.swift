/// One way in which an app's mail leaves: who it is from, who returns go to, who sends it, who signs it.
package struct MailStream: Sendable, Hashable {
    /// What operators call it.
    package var name: String
    /// The domain that recipients see.
    package var fromDomain: DomainName
    /// The domain of the envelope sender (return path); its SPF policy counts.
    package var envelopeDomain: DomainName
    /// The domain that signs (`d=`).
    package var signingDomain: DomainName
    /// Who sends.
    package var provider: Provider
    /// The selectors that the provider signs with.
    package var selectors: [Selector]
    /// What the operator says of registration with Apple.
    package var registration: Registration

    /// The sending side.
    package struct Provider: Sendable, Hashable {
        /// What it is called, if anything.
        package var name: String?
        /// The names whose SPF policies list its addresses.
        package var includes: [DomainName]
        /// The name that the envelope domain must be an alias of, where the provider asks for that.
        package var returnPathTarget: DomainName?
        /// Addresses it sends from.
        package var addresses: [IPNetwork]

        /// A provider; everything may be left out.
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
        /// The name that it must be an alias of, where the provider keeps the key.
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

    /// What is declared to be registered in Apple's portal; nobody can look it up there.
    package enum Registration: Sendable, Hashable {
        /// Nothing was said; verdicts then hold under the condition that it is.
        case notStated
        /// Exactly these names are.
        case names([DomainName])
    }

    /// A stream; envelope and signing domain are the From domain unless said otherwise.
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

    /// Whether a name is registered as far as was said; nil when nothing was said.
    ///
    /// Sub-domains do not inherit (Apple).
    func isRegistered(_ name: DomainName) -> Bool? {
        switch registration {
        case .notStated: nil
        case .names(let names): names.contains(name)
        }
    }
}
