/// A number of seconds in a control request, a hundred years at most.
///
/// A larger number may fit neither a `Duration` nor the times in a token, and converting it would end the process.
struct ControlSeconds: Decodable {
    private static let longest = 100.0 * 366 * 86_400

    let value: Double

    var duration: Duration { .seconds(value) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        value = try container.decode(Double.self)
        guard abs(value) <= Self.longest else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "more than a hundred years")
        }
    }
}
