import HTTPCalls

/// A part of an object's bytes.
package struct StoragePart: Sendable, Hashable {
    /// The position at which the next part begins.
    package struct Cursor: Sendable, Hashable {
        let offset: Int
        /// The size of the whole object.
        let size: Int
        /// The version that the first part belongs to.
        let entityTag: String?

        /// Creates the cursor at the start of an object from a reply with its first byte.
        init?(firstByte reply: HTTPReply) {
            guard let range = reply.contentRange.flatMap(ContentRange.init), range.start == 0, range.end == 1,
                reply.body.count == 1
            else { return nil }
            self.init(offset: 0, size: range.size, entityTag: reply.entityTag)
        }

        fileprivate init(offset: Int, size: Int, entityTag: String?) {
            (self.offset, self.size, self.entityTag) = (offset, size, entityTag)
        }
    }

    /// The bytes, in order.
    package let bytes: [UInt8]
    /// The position of the next part; nil at the end.
    package let next: Cursor?

    /// Extracts a part from a reply, unless the reply has another range than requested.
    static func read(_ reply: HTTPReply, from cursor: Cursor, limit: Int) -> StorageOutcome<StoragePart> {
        guard let range = reply.contentRange.flatMap(ContentRange.init), range.start == cursor.offset,
            range.end - range.start == reply.body.count, range.end == min(range.start + limit, range.size)
        else { return .later(StorageDelay(.notUnderstood(status: reply.status))) }
        if cursor.size != range.size || cursor.entityTag != reply.entityTag {
            return .later(StorageDelay(.replaced))
        }
        let next = Cursor(offset: range.end, size: range.size, entityTag: reply.entityTag)
        return .done(StoragePart(bytes: reply.body, next: range.end < range.size ? next : nil))
    }
}

/// `bytes 0-99/1234` (RFC 9110, section 14.4).
private struct ContentRange {
    let start: Int
    /// The position after the last byte.
    let end: Int
    let size: Int

    init?(_ text: String) {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let numbers = text.dropFirst("bytes ".count).split(whereSeparator: { $0 == "-" || $0 == "/" }).map { Int($0) }
        guard numbers.count == 3, let start = numbers[0], let last = numbers[1], let size = numbers[2],
            start >= 0, last >= start, last < size
        else { return nil }
        (self.start, self.end, self.size) = (start, last + 1, size)
    }
}
