/// `POST /control/apple/rotate-keys`; the body may be missing.
struct RotationBody: Decodable {
    let all: Bool?
}
