import Foundation

/// A person of the demo, derived from a number alone: how they sign in, what they uploaded, what they want.
struct DemoPerson: Sendable {
    /// How a person signs in.
    enum SignIn: Sendable {
        case password
        case apple(hidesEmail: Bool)
    }

    private static let firstNames = [
        "Anna", "Ben", "Chiara", "David", "Elif", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Mara",
        "Noah", "Olga", "Paul", "Quinn", "Rosa", "Samir", "Tessa",
    ]
    private static let lastNames = [
        "Adler", "Berg", "Costa", "Duarte", "Eriksen", "Fischer", "Garcia", "Haddad", "Ivanova", "Jensen", "Kowalski",
        "Lange", "Moreau", "Novak", "Okafor", "Peters", "Rossi", "Sato", "Tanaka", "Weber",
    ]

    let number: Int
    let id = UUID()

    var firstName: String { Self.firstNames[number % Self.firstNames.count] }

    var fullName: String { "\(firstName) \(Self.lastNames[number / Self.firstNames.count % Self.lastNames.count])" }

    var username: String { "\(firstName.lowercased())\(number)" }

    /// The real e-mail address.
    var email: String { "\(username)@example.com" }

    var signIn: SignIn {
        switch number % 4 {
        case 0: .password
        case 1: .apple(hidesEmail: false)
        default: .apple(hidesEmail: true)
        }
    }

    var usesApple: Bool {
        if case .apple = signIn { true } else { false }
    }

    /// Whether the app's version at that time submitted the authorization code; older versions did not.
    var submitsCode: Bool { usesApple && number % 10 != 1 }

    /// The keys of the avatars, oldest first: the tutorial's random names in the root, or an upper-case folder.
    func makeAvatarKeys() -> [String] {
        (0..<(1 + number % 4)).map { _ in
            let name = UUID().uuidString + ".jpeg"
            return number % 7 == 0 ? "\(id.uuidString)/\(name)" : name
        }
    }
}
