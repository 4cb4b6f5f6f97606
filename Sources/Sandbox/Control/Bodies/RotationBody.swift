/// `POST /control/apple/rotate-keys`; the body is optional.
struct RotationBody: Decodable {
    let all: Bool?
}
