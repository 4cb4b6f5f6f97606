import Crypto
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes an uncompressed archive (POSIX ustar, IEEE 1003.1, section pax) and hashes each entry as it is written.
///
/// The size of an entry beyond 8 GiB, for which ustar has too few digits, is written in binary, as GNU tar does and
/// other readers understand.
///
/// An entry's length need not be known in advance: its header is written last, into the space reserved for it. So the
/// archive has to be a file.
package struct TarWriter: Sendable {
    /// An entry that was written.
    struct Entry: Sendable, Hashable {
        let name: String
        let bytes: Int
        /// The digest of the entry, in hexadecimal digits.
        let sha256: String
    }

    /// Why an archive could not be written.
    package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// The system's error number.
        case system(Int32)

        package var description: String {
            switch self {
            case .system(let code): "cannot write the archive: \(String(cString: strerror(code)))"
            }
        }
    }

    private static let block = 512
    private static let bufferSize = 1 << 16

    private let descriptor: Int32
    private let modifiedAt: Int
    private var offset = 0
    private var buffer: [UInt8] = []
    private var open: (name: String, header: Int, bytes: Int, hash: SHA256)?

    /// - Parameters:
    ///   - descriptor: an empty file, positioned at its start.
    ///   - modifiedAt: the modification time of every entry.
    init(descriptor: Int32, modifiedAt: Date) {
        self.descriptor = descriptor
        self.modifiedAt = max(0, Int(modifiedAt.timeIntervalSince1970))
    }

    /// Begins an entry.
    ///
    /// - Parameter name: at most 100 ASCII characters, chosen by us, never a name that a stranger gave.
    /// - Throws: ``Failure``.
    mutating func begin(_ name: String) throws(Failure) {
        precondition(open == nil && !name.isEmpty && name.utf8.count <= 100 && name.utf8.allSatisfy { $0 < 0x80 })
        open = (name, offset, 0, SHA256())
        try put([UInt8](repeating: 0, count: Self.block))
    }

    /// Appends to the current entry.
    ///
    /// - Throws: ``Failure``.
    mutating func write(_ bytes: some Sequence<UInt8>) throws(Failure) {
        let bytes = Array(bytes)
        open?.bytes += bytes.count
        open?.hash.update(data: bytes)
        try put(bytes)
    }

    /// Ends the entry.
    ///
    /// - Throws: ``Failure``.
    mutating func end() throws(Failure) -> Entry {
        guard let entry = open else { preconditionFailure("no entry was begun") }
        open = nil
        try put([UInt8](repeating: 0, count: (Self.block - entry.bytes % Self.block) % Self.block))
        try flush()
        let header = Self.header(entry.name, bytes: entry.bytes, modifiedAt: modifiedAt)
        try writeAll(header) { pwrite(descriptor, $0.baseAddress, $0.count, off_t(entry.header + $1)) }
        return Entry(name: entry.name, bytes: entry.bytes, sha256: entry.hash.finalize().hexadecimal)
    }

    /// Ends the archive.
    ///
    /// - Throws: ``Failure``.
    mutating func finish() throws(Failure) {
        try put([UInt8](repeating: 0, count: 2 * Self.block))
        try flush()
    }

    private mutating func put(_ bytes: [UInt8]) throws(Failure) {
        buffer += bytes
        offset += bytes.count
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private mutating func flush() throws(Failure) {
        try writeAll(buffer) { part, _ in systemWrite(descriptor, part.baseAddress, part.count) }
        buffer.removeAll(keepingCapacity: true)
    }

    private func writeAll(
        _ bytes: [UInt8],
        _ write: (_ part: UnsafeRawBufferPointer, _ done: Int) -> Int
    ) throws(Failure) {
        let code = bytes.withUnsafeBytes { all -> Int32 in
            var done = 0
            while done < all.count {
                let count = write(UnsafeRawBufferPointer(rebasing: all[done...]), done)
                if count < 0, errno != EINTR { return errno }
                done += max(0, count)
            }
            return 0
        }
        if code != 0 { throw .system(code) }
    }

    /// The header of an entry, whose mode lets only its owner read it after unpacking.
    static func header(_ name: String, bytes: Int, modifiedAt: Int) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: block)
        func place(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
        }
        place(name, at: 0)
        place("0000600", at: 100)
        place("0000000", at: 108)
        place("0000000", at: 116)
        header.replaceSubrange(124..<136, with: size(bytes))
        place(octal(modifiedAt, digits: 11), at: 136)
        place("        ", at: 148)
        place("0", at: 156)
        place("ustar\u{0}00", at: 257)
        let sum = header.reduce(0) { $0 + Int($1) }
        place(octal(sum, digits: 6) + "\u{0} ", at: 148)
        return header
    }

    /// Octal digits and a zero byte or, for larger numbers, the number in binary with the first bit set.
    private static func size(_ bytes: Int) -> [UInt8] {
        if bytes <= 0o77_777_777_777 { return Array(octal(bytes, digits: 11).utf8) + [0] }
        return [0x80] + (0..<11).map { UInt8(truncatingIfNeeded: bytes >> (8 * (10 - $0))) }
    }

    private static func octal(_ value: Int, digits: Int) -> String {
        let text = String(value, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
