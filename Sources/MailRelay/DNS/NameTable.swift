/// An immutable table of values by name.
///
/// Half of the slots stay empty, and a cheap digest selects the slot, because a dictionary's hash costs more than the
/// rest of a lookup. Do not use it for names that an attacker chooses, who could choose names with equal digests.
struct NameTable<Value: Sendable>: Sendable {
    private let entries: [(name: DomainName, value: Value)]
    /// The index of the entry in each slot, where a colliding entry may have taken a later slot; -1 marks an empty
    /// slot.
    private let places: [Int32]

    init(_ values: [DomainName: Value]) {
        var size = 2
        while size < values.count * 2 { size *= 2 }
        var places = [Int32](repeating: -1, count: size)
        var entries: [(name: DomainName, value: Value)] = []
        for (name, value) in values {
            var place = Self.place(of: name, among: size)
            while places[place] >= 0 { place = (place + 1) & (size - 1) }
            places[place] = Int32(entries.count)
            entries.append((name, value))
        }
        self.entries = entries
        self.places = places
    }

    /// The value for the name; nil for an unknown name.
    subscript(name: DomainName) -> Value? {
        var place = Self.place(of: name, among: places.count)
        while places[place] >= 0 {
            let index = Int(places[place])
            if entries[index].name == name { return entries[index].value }
            place = (place + 1) & (places.count - 1)
        }
        return nil
    }

    private static func place(of name: DomainName, among size: Int) -> Int {
        Int(truncatingIfNeeded: name.digest) & (size - 1)
    }
}
