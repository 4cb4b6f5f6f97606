/// PostgreSQL's two formats of one-dimensional arrays.
enum ArrayFormat {
    /// Writes the binary format: dimensions, whether there are NULLs, element type, length, first index, then each
    /// element with its length.
    static func write<Element: PostgresEncodable>(
        _ elements: [Element],
        elementType: UInt32,
        to bytes: inout [UInt8]
    ) throws(EncodingFault) {
        bytes.append(bigEndian: Int32(elements.isEmpty ? 0 : 1))
        bytes.append(bigEndian: Int32(elements.contains { $0.isNull } ? 1 : 0))
        bytes.append(bigEndian: elementType)
        guard !elements.isEmpty else { return }
        bytes.append(bigEndian: Int32(elements.count))
        bytes.append(bigEndian: Int32(1))
        for element in elements {
            guard !element.isNull else {
                bytes.append(bigEndian: Int32(-1))
                continue
            }
            let lengthAt = bytes.count
            bytes.append(bigEndian: Int32(0))
            try element.write(to: &bytes)
            let length = Int32(bytes.count - lengthAt - 4).bigEndian
            withUnsafeBytes(of: length) { bytes.replaceSubrange(lengthAt..<lengthAt + 4, with: $0) }
        }
    }

    /// Reads either format; arrays of more than one dimension are refused.
    static func read<Element: PostgresDecodable>(
        _ cell: Cell,
        elementType: UInt32,
        as: Element.Type
    ) throws(DecodingFault) -> [Element] {
        cell.isBinary ? try readBinary(cell) : try readText(cell, elementType: elementType)
    }

    private static func readBinary<Element: PostgresDecodable>(_ cell: Cell) throws(DecodingFault) -> [Element] {
        let bytes = cell.bytes
        guard bytes.count >= 12 else { throw .type(cell.type) }
        let dimensions = cell.load(Int32.self)
        let type = cell.load(UInt32.self, at: 8)
        if dimensions == 0, bytes.count == 12 { return [] }
        guard dimensions == 1, bytes.count >= 20 else { throw .type(cell.type) }
        let count = Int(cell.load(Int32.self, at: 12))
        var elements: [Element] = []
        var offset = 20
        for _ in 0..<max(count, 0) {
            guard offset + 4 <= bytes.count else { throw .malformed }
            let length = Int(cell.load(Int32.self, at: offset))
            offset += 4
            guard length >= 0 else {
                elements.append(try Element.read(nil))
                continue
            }
            guard offset + length <= bytes.count else { throw .malformed }
            let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
            elements.append(try Element.read(Cell(bytes: slice, type: type, isBinary: true)))
            offset += length
        }
        return elements
    }

    private static func readText<Element: PostgresDecodable>(
        _ cell: Cell,
        elementType: UInt32
    ) throws(DecodingFault) -> [Element] {
        var parser = ArrayTextParser(cell.bytes)
        var elements: [Element] = []
        while let item = try parser.next() {
            guard let text = item.text else {
                elements.append(try Element.read(nil))
                continue
            }
            let result = text.withUnsafeBytes { bytes in
                Result { () throws(DecodingFault) -> Element in
                    try Element.read(Cell(bytes: bytes, type: elementType, isBinary: false))
                }
            }
            elements.append(try result.get())
        }
        return elements
    }
}

/// Parses the text format of a one-dimensional array.
struct ArrayTextParser {
    /// One element of an array; its text is nil for NULL.
    struct Item {
        var text: [UInt8]?
    }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// Creates a parser; the bytes must stay valid while elements are read.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Returns the next element; nil at the end.
    mutating func next() throws(DecodingFault) -> Item? {
        guard let first = peek(), let last = bytes.last, last == UInt8(ascii: "}") else { throw .malformed }
        if position == 0 {
            // An array whose first index is not one begins with its bounds, `[0:1]={...}`.
            guard first == UInt8(ascii: "{") else { throw .malformed }
            position = 1
            if bytes.count == 2 { position = 2 }
        }
        guard position < bytes.count else { return nil }
        let item = peek() == UInt8(ascii: "\"") ? try quoted() : try plain()
        guard let separator = peek(), separator == UInt8(ascii: ",") || separator == UInt8(ascii: "}") else {
            throw .malformed
        }
        position += 1
        return item
    }

    private func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : bytes.last
    }

    private mutating func quoted() throws(DecodingFault) -> Item {
        var text: [UInt8] = []
        position += 1
        while position < bytes.count {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return Item(text: text) }
            if byte == UInt8(ascii: "\\"), position < bytes.count {
                byte = bytes[position]
                position += 1
            }
            text.append(byte)
        }
        throw .malformed
    }

    private mutating func plain() throws(DecodingFault) -> Item {
        var text: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: ","), bytes[position] != UInt8(ascii: "}") {
            // A brace here starts a second dimension.
            guard bytes[position] != UInt8(ascii: "{") else { throw .malformed }
            text.append(bytes[position])
            position += 1
        }
        return Item(text: text == Array("NULL".utf8) ? nil : text)
    }
}
