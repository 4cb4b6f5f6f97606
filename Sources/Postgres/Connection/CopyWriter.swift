/// Takes the rows of a `copy … from stdin` in text format.
package struct CopyWriter {
    private let send: ([UInt8]) throws -> Void
    private var buffer: [UInt8] = []

    /// Large enough that sending costs little, small enough to stay in the cache.
    private static let chunk = 64 << 10

    init(_ send: @escaping ([UInt8]) throws -> Void) {
        self.send = send
        buffer.reserveCapacity(Self.chunk + 4096)
    }

    /// Adds one row, with a value for each column of the statement.
    ///
    /// - Throws: ``PostgresError`` `encoding` for a value that cannot be sent; what sending throws.
    package mutating func append<each Value: PostgresEncodable>(_ values: repeat each Value) throws {
        var isFirst = true
        do throws(EncodingFault) {
            // Calls, no `for value in repeat`: optimised, this compiler goes wrong on loops over packs (see RowReader).
            repeat try writeField(each values, isFirst: &isFirst)
        } catch {
            throw PostgresError(.encoding, reason: error.reason)
        }
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.chunk { try flush() }
    }

    /// Adds bytes in whatever format the statement names; rows may be cut anywhere.
    package mutating func append(raw bytes: some Sequence<UInt8>) throws {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.chunk { try flush() }
    }

    mutating func flush() throws {
        guard !buffer.isEmpty else { return }
        try send(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private mutating func writeField(
        _ value: some PostgresEncodable,
        isFirst: inout Bool
    ) throws(EncodingFault) {
        if !isFirst { buffer.append(UInt8(ascii: "\t")) }
        isFirst = false
        try write(value)
    }

    private mutating func write(_ value: some PostgresEncodable) throws(EncodingFault) {
        guard !value.isNull else {
            buffer.append(contentsOf: #"\N"#.utf8)
            return
        }
        var text: [UInt8] = []
        try value.writeText(to: &text)
        for byte in text {
            switch byte {
            case UInt8(ascii: "\\"): buffer.append(contentsOf: #"\\"#.utf8)
            case UInt8(ascii: "\n"): buffer.append(contentsOf: #"\n"#.utf8)
            case UInt8(ascii: "\r"): buffer.append(contentsOf: #"\r"#.utf8)
            case UInt8(ascii: "\t"): buffer.append(contentsOf: #"\t"#.utf8)
            default: buffer.append(byte)
            }
        }
    }
}
