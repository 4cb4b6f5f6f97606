#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads secrets from a file or from standard input.
package enum SecretFile {
    /// The contents of a file.
    package struct Contents: Sendable {
        /// The bytes.
        let bytes: Secret<[UInt8]>
        /// Whether users other than the intended ones can read the file.
        ///
        /// This deserves a warning rather than an error, since secret stores mount files that way.
        package let isReadableByOthers: Bool

        /// The bytes as text; nil unless they are UTF-8.
        package var text: Secret<String>? {
            String(validating: bytes.reveal(), as: UTF8.self).map { Secret($0) }
        }
    }

    /// Why a file could not be read.
    package struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The path as given.
        package let path: String
        /// The reason, in the system's wording.
        package let reason: String

        /// Creates a failure for a path, with the reason.
        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }

        /// The path and the reason.
        package var description: String { "\(path): \(reason)" }
    }

    /// Reads a whole file, or standard input for the path `-`, up to `limit` bytes, since secrets are short.
    ///
    /// - Throws: ``Failure`` if the file cannot be opened or read, is a directory or is longer than `limit`.
    package static func read(_ path: String, limit: Int = 1 << 16) throws(Failure) -> Contents {
        if path == "-" { return Contents(bytes: try readAll(STDIN_FILENO, path, limit), isReadableByOthers: false) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(path: path, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        let isOpenToOthers = FileModes(descriptor: descriptor)?.isOpen(to: geteuid()) ?? false
        return Contents(bytes: try readAll(descriptor, path, limit), isReadableByOthers: isOpenToOthers)
    }

    /// Reads a whole file as text; see ``read(_:limit:)``.
    ///
    /// - Throws: ``Failure``, also if the file is not UTF-8.
    package static func readText(_ path: String, limit: Int = 1 << 16) throws(Failure) -> Secret<String> {
        guard let text = try read(path, limit: limit).text else {
            throw Failure(path: path, reason: "it is not UTF-8 text")
        }
        return text
    }

    private static func readAll(_ descriptor: CInt, _ path: String, _ limit: Int) throws(Failure) -> Secret<[UInt8]> {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = chunk.withUnsafeMutableBytes { buffer in
                #if canImport(Darwin)
                    Darwin.read(descriptor, buffer.baseAddress, buffer.count)
                #else
                    Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                #endif
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw Failure(path: path, reason: String(cString: strerror(errno)))
            }
            if count == 0 { return Secret(bytes) }
            guard bytes.count + count <= limit else {
                throw Failure(path: path, reason: "longer than \(limit) bytes")
            }
            bytes.append(contentsOf: chunk[..<count])
        }
    }
}
