extension SPFRun {
    /// Whether a mechanism matches the sender (RFC 7208, 5).
    mutating func matches(_ mechanism: SPFMechanism, of policy: borrowing SPFPolicy) throws(SPFStop) -> Bool {
        if mechanism.causesLookup { try countTerm() }
        switch mechanism {
        case .all:
            return true
        case .ip(let network):
            return network.contains(query.address)
        case .include(let spec):
            return try check(target: try target(spec, of: policy), of: policy).result == .pass
        case .a(let spec, let lengths):
            guard let name = try name(spec, of: policy) else { return false }
            return try addresses(of: name, include: lengths)
        case .mx(let spec, let lengths):
            guard let name = try name(spec, of: policy) else { return false }
            return try exchangers(of: name, include: lengths)
        case .ptr(let spec):
            guard let domain = try name(spec, of: policy) else { return false }
            for name in try reverseNames() where name.isWithin(domain) {
                if try leadsBack(name) { return true }
            }
            return false
        case .exists(let spec):
            guard let name = try name(spec, of: policy) else { return false }
            // Always an A query, whatever the client's address family (RFC 7208, 5.7).
            return try !records(name, .a).isEmpty
        }
    }

    private mutating func addresses(of name: DomainName, include lengths: SPFPrefixLengths) throws(SPFStop) -> Bool {
        for record in try records(name, addressType) {
            switch record {
            case .a(let address):
                if IPNetwork.v4(address, length: lengths.v4).contains(query.address) { return true }
            case .aaaa(let address):
                if IPNetwork.v6(address, length: lengths.v6).contains(query.address) { return true }
            default: continue
            }
        }
        return false
    }

    private mutating func exchangers(of name: DomainName, include lengths: SPFPrefixLengths) throws(SPFStop) -> Bool {
        let exchangers = try records(name, .mx)
        guard exchangers.count <= SPFEvaluator<Source>.nameLimit else {
            throw .problem(.tooManyExchangers(name, count: exchangers.count))
        }
        for case .mx(_, let exchange) in exchangers where !exchange.isRoot {
            if try addresses(of: exchange, include: lengths) { return true }
        }
        return false
    }
}

// MARK: Reverse names

/// The reverse names of a client.
struct SPFReverseNames {
    /// The client's names, up to the limit.
    var names: [DomainName] = []
    /// For each name checked so far, whether it resolves back to the client.
    var leadingBack: [DomainName: Bool] = [:]
}

extension SPFRun {
    /// The client's reverse names, up to the limit.
    ///
    /// DNS errors count as "no such name" here (RFC 7208, 5.5).
    mutating func reverseNames() throws(SPFStop) -> [DomainName] {
        if let reverse = pass.reverse { return reverse.names }
        pass.reverse = SPFReverseNames()
        guard let name = try? query.address.reverseName, let found = try recordsIfAny(name, .ptr) else { return [] }
        var names: [DomainName] = []
        for case .ptr(let name) in found where !name.isRoot && names.count < SPFEvaluator<Source>.nameLimit {
            names.append(name)
        }
        pass.reverse?.names = names
        return names
    }

    /// Whether a reverse name resolves back to the client.
    mutating func leadsBack(_ name: DomainName) throws(SPFStop) -> Bool {
        if let known = pass.reverse?.leadingBack[name] { return known }
        pass.reverse?.leadingBack[name] = false
        let address = query.address
        let leadsBack = try recordsIfAny(name, addressType)?.contains { record in
            switch record {
            case .a(let found): address == .v4(found)
            case .aaaa(let found): address == .v6(found)
            default: false
            }
        }
        pass.reverse?.leadingBack[name] = leadsBack == true
        return leadsBack == true
    }

    private var addressType: RecordType {
        switch query.address {
        case .v4: .a
        case .v6: .aaaa
        }
    }
}
