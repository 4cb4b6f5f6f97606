/// The keys that profiles name: of each no more than a hash, so that a million of them are some tens of megabytes.
///
/// A profile names an object by its key, by a URL that ends with it, or by such a URL with characters escaped; what follows a `?` or a
/// `#` does not matter. Two keys of one hash count as named: an object too many is kept, never one too many deleted.
package struct AvatarNames: Sendable {
    private var hashes: Set<Int> = []

    package init(_ urls: some Sequence<String> = []) {
        for url in urls { insert(url) }
    }

    /// Takes in what a profile holds.
    package mutating func insert(_ url: String) {
        let bytes = Array(url.utf8)
        for spelling in [bytes, Self.unescaped(bytes)] {
            insertEnds(of: spelling)
            if let end = spelling.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
                insertEnds(of: Array(spelling[..<end]))
            }
        }
    }

    /// Whether some profile names the object of this key.
    package func contains(_ key: String) -> Bool {
        hashes.contains(Self.hash(Array(key.utf8)[...]))
    }

    /// Each end of a URL, from a slash on: behind the bucket's name, where that is in it.
    private mutating func insertEnds(of url: [UInt8]) {
        var rest = url[...]
        if let bucket = url.firstRange(of: Self.bucket) { rest = url[bucket.upperBound...] }
        while true {
            hashes.insert(Self.hash(rest))
            guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return }
            rest = rest[(slash + 1)...]
        }
    }

    private static let bucket = Array("/\(AccountObjects.bucketOfProfiles)/".utf8)

    /// By bytes, as keys are compared: two spellings of one letter are two keys.
    private static func hash(_ bytes: ArraySlice<UInt8>) -> Int {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// The bytes with those that are percent-encoded in clear.
    private static func unescaped(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                rest = rest.dropFirst(2)
                bytes.append(value)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
