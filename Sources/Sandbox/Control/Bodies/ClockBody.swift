/// `POST /control/clock`.
struct ClockBody: Decodable {
    let advanceSeconds: Double

    enum CodingKeys: String, CodingKey {
        case advanceSeconds = "advance_seconds"
    }
}
