#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One measured figure.
struct Figure: Codable, Sendable {
    /// The name, such as `driver.roundtrip`.
    var name: String

    /// The median of the runs.
    var value: Double

    /// The unit of the value, such as `statements/s`.
    var unit: String

    /// The goal in words, such as `≥ 0.9 × floor`.
    var goal: String

    /// The result of the same work done by the simplest other means in the same run.
    var floor: Double?

    /// The median of the runs' results as multiples of their floors.
    ///
    /// Not the quotient of the two medians: the speed of a machine, above all of its disk, changes within minutes, but
    /// less between a run and the floor taken beside it.
    var ratio: Double?

    /// The smallest of the runs.
    var min: Double

    /// The largest of the runs.
    var max: Double

    /// The number of runs.
    var runs: Int

    /// Computes the medians of several runs and of their floors, of which each run has one, or none has.
    init(name: String, unit: String, goal: String, values: [Double], floors: [Double] = []) {
        precondition(!values.isEmpty, "a figure needs a run")
        precondition(floors.isEmpty || floors.count == values.count, "each run needs a floor of its own")
        self.name = name
        self.unit = unit
        self.goal = goal
        value = Self.median(values)
        floor = floors.isEmpty ? nil : Self.median(floors)
        ratio = floors.isEmpty ? nil : Self.median(zip(values, floors).map { $0 / $1 })
        min = values.min() ?? value
        max = values.max() ?? value
        runs = values.count
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    func jsonLine() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
