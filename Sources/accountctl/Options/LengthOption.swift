import ArgumentParser
import Settings

/// An option that takes a duration in whole seconds or whole days.
struct LengthOption {
    /// The unit that is counted, in seconds.
    enum Unit: Int64 {
        case second = 1
        case day = 86_400
    }

    let name: String
    let unit: Unit
    /// The allowed number of units.
    let bounds: ClosedRange<Int>

    /// Parses a duration and returns its number of units.
    ///
    /// - Throws: `ValidationError` that names the option.
    func count(_ text: String) throws -> Int {
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
