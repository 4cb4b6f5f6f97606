#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Blocking socket calls on 127.0.0.1, for fixtures that break connections or implement their own server.
package enum Socket {
    /// The type of a socket: a stream of bytes (TCP) or datagrams (UDP).
    package enum Kind {
        case stream
        case datagrams

        #if canImport(Glibc)
            fileprivate var number: Int32 { Int32(self == .stream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue) }
        #else
            fileprivate var number: Int32 { self == .stream ? SOCK_STREAM : SOCK_DGRAM }
        #endif
    }

    /// Returns a free port for a server that is about to be started; the port is bound and released again.
    ///
    /// The port lies below the ephemeral range: the system could assign a port of that range to a client before the
    /// server binds it.
    package static func freePort() throws -> Int {
        for _ in 0..<50 {
            guard let (descriptor, port) = try? listen(port: .random(in: 20_000..<32_000)) else { continue }
            close(descriptor)
            return port
        }
        throw TestSupportError("no port is free between 20000 and 32000")
    }

    /// Listens on a free port of 127.0.0.1, or on a port of another address 127.0.0.x.
    package static func listen(host: UInt8 = 1, port: Int = 0) throws -> (descriptor: Int32, port: Int) {
        let (descriptor, port) = try bind(host: host, port: port)
        guard systemListen(descriptor, 64) == 0 else {
            close(descriptor)
            throw TestSupportError("cannot listen on port \(port)")
        }
        return (descriptor, port)
    }

    /// Binds a free port, or the given one; a TCP socket does not listen yet.
    package static func bind(
        _ kind: Kind = .stream,
        host: UInt8 = 1,
        port: Int = 0
    ) throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, kind.number, 0)
        guard descriptor >= 0 else { throw TestSupportError("no socket") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = loopback(host: host, port: port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                systemBind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard bound else {
            close(descriptor)
            throw TestSupportError("no port is free")
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Connects to a port of 127.0.0.1.
    static func connect(port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Kind.stream.number, 0)
        guard descriptor >= 0 else { throw TestSupportError("no socket") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = loopback(port: port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { systemConnect(descriptor, $0, length) == 0 }
        }
        guard connected else {
            close(descriptor)
            throw TestSupportError("nobody listens on port \(port)")
        }
        return descriptor
    }

    /// Sends all bytes; returns false when the peer is gone.
    static func sendAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Waits for data and returns it; nil at the end of the stream or after an error.
    static func receive(from descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    private static func loopback(host: UInt8 = 1, port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = (UInt32(0x7f00_0000) + UInt32(host)).bigEndian
        return address
    }
}

// The member functions above hide the C functions of the same names.
private func systemBind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    bind(descriptor, address, length)
}

private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}
