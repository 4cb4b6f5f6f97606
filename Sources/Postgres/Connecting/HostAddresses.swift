#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The addresses of a host name.
enum HostAddresses {
    /// The addresses that the system resolver finds, in numeric form and in its order, without duplicates; empty if it
    /// finds none.
    ///
    /// Blocks, as libpq's own resolution does.
    static func of(_ host: String) -> [String] {
        var hints = addrinfo()
        #if canImport(Glibc)
            hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            if getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0 {
                let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            next = entry.ai_next
        }
        return addresses
    }
}
