/// Finds the name that a misspelt one was probably meant to be.
package enum NearestName {
    /// The known name closest to the misspelt one, if it is close enough for a suggestion.
    package static func of(_ typed: String, among names: some Sequence<String>) -> String? {
        let allowed = max(1, min(3, typed.count / 3))
        let lowered = typed.lowercased()
        return
            names
            .map { (name: $0, distance: distance(lowered, $0.lowercased())) }
            .filter { $0.distance <= allowed }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?
            .name
    }

    /// The end of a message about an unknown name: `; did you mean alpha?`, or nothing if no name is close.
    package static func question(of typed: String, among names: some Sequence<String>) -> String {
        of(typed, among: names).map { "; did you mean \($0)?" } ?? ""
    }

    /// The edit distance between two words (insertions, deletions, replacements, swaps of neighbours).
    static func distance(_ first: String, _ second: String) -> Int {
        let a = Array(first.unicodeScalars)
        let b = Array(second.unicodeScalars)
        if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 1...a.count {
            var current = [i] + [Int](repeating: 0, count: b.count)
            for j in 1...b.count {
                let cost = a[i - 1] == b[j - 1] ? 0 : 1
                current[j] = min(last[j] + 1, current[j - 1] + 1, last[j - 1] + cost)
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    current[j] = min(current[j], beforeLast[j - 2] + 1)
                }
            }
            beforeLast = last
            last = current
        }
        return last[b.count]
    }
}
