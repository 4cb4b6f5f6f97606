/// Values by name, none added later.
///
/// Half of the places stay empty and names are told apart by a digest that costs little, where a dictionary's hash
/// costs more than all the rest of a lookup. Not for names that strangers choose: they could choose ones with the same
/// digest.
struct NameTable<Value: Sendable>: Sendable {
    private let entries: [(name: DomainName, value: Value)]
    /// Where the entry of a digest stands, or that of another one with the same place; -1 where none does.
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

    /// What the name stands for; nil for an unknown one.
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
