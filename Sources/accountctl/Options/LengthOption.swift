import ArgumentParser
import Settings

/// An option that takes a length of time, with the one before it that takes a plain number of a unit.
///
/// The older one is still understood, since scripts say it, and no longer shown.
struct LengthOption {
    /// What is counted, in seconds.
    enum Unit: Int64 {
        case second = 1
        case day = 86_400
    }

    let name: String
    /// What the older one is called.
    let plainName: String
    let unit: Unit
    /// How many units it may be.
    let bounds: ClosedRange<Int>

    /// Counts the units that were asked for, by the one or the other.
    ///
    /// - Returns: Their number; nil where neither option was given.
    /// - Throws: `ValidationError` that names the option.
    func count(_ text: String?, plain: Int?) throws -> Int? {
        guard let text else {
            if let plain, !bounds.contains(plain) {
                throw ValidationError("\(plainName) must lie between \(bounds.lowerBound) and \(bounds.upperBound)")
            }
            return plain
        }
        if plain != nil { throw ValidationError("\(name) and \(plainName) exclude each other") }
        guard let length = DurationText.read(text) else { throw ValidationError("\(name) \(DurationArgument.form)") }
        let (seconds, rest) = length.components
        let (units, part) = seconds.quotientAndRemainder(dividingBy: unit.rawValue)
        guard rest == 0, part == 0, let count = Int(exactly: units), bounds.contains(count) else {
            let limits = "from \(written(bounds.lowerBound)) to \(written(bounds.upperBound))"
            throw ValidationError("\(name) must be whole \(unit)s \(limits)")
        }
        return count
    }

    private func written(_ count: Int) -> String { DurationText.write(.seconds(Int64(count) * unit.rawValue)) }
}
