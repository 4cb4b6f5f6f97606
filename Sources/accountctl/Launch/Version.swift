/// The version that `accountctl --version` prints.
enum Version {
    static let number = "0.1.0"

    static var text: String { "accountctl \(number)" }
}
