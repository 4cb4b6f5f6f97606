/// `POST /control/clock`.
struct ClockBody: Decodable {
    let advanceSeconds: ControlSeconds

    enum CodingKeys: String, CodingKey {
        case advanceSeconds = "advance_seconds"
    }
}
