#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The sandbox's own endpoints under `/control`, for scripts and other programs: JSON in, JSON out.
struct ControlEndpoints: Sendable {
    let apple: AppleSandbox
    let keys: StorageKeys
    let files: FileStore?
    let notifications: NotificationSender
    let faults: Faults
    let journal: RequestJournal
    let clock: SandboxClock

    func answer(_ words: [String], _ request: ReceivedRequest) async -> Reply {
        do {
            switch (request.method, words.first, words.dropFirst().first) {
            case ("GET", "health", nil): return .text("{}", contentType: "application/json")
            case ("GET", "requests", nil): return try .json(journal.entries)
            case ("DELETE", "requests", nil):
                journal.clear()
                return Reply(status: 204)
            case ("POST", "faults", nil): return try setFault(request)
            case ("DELETE", "faults", nil):
                faults.clearAll()
                return Reply(status: 204)
            case ("DELETE", "faults", let id?):
                guard let id = Int(id), faults.clear(id) else { return Reply(status: 404) }
                return Reply(status: 204)
            case ("POST", "clock", nil):
                let body = try decode(ClockBody.self, request)
                clock.advance(by: body.advanceSeconds.duration)
                return Reply(status: 204)
            case ("GET", "storage", "keys"):
                return try .json(
                    [
                        "service_role": keys.serviceRoleKey, "anon": keys.anonKey, "secret": keys.secretKey,
                        "publishable": keys.publishableKey,
                    ]
                )
            case ("POST", "storage", "files"):
                files?.setBroken(try decode(FilesBody.self, request).broken)
                return Reply(status: files == nil ? 404 : 204)
            case ("POST", "storage", "access-tokens"):
                let body = try decode(AccessTokenBody.self, request)
                let token = try keys.accessToken(
                    userID: body.userID,
                    email: body.email,
                    issuedAt: clock.now,
                    lifetime: body.lifetimeSeconds?.duration ?? .seconds(3600)
                )
                return try .json(["access_token": token], status: 201)
            case (_, "apple", let word?): return try await answerApple(word, request)
            default: return try problem(404, "no such control request")
            }
        } catch let error as SandboxError {
            return (try? problem(400, error.description)) ?? Reply(status: 400)
        } catch let error as DecodingError {
            return (try? problem(400, "the body does not fit: \(error)")) ?? Reply(status: 400)
        } catch {
            return (try? problem(502, "\(error)")) ?? Reply(status: 502)
        }
    }

    private func answerApple(_ word: String, _ request: ReceivedRequest) async throws -> Reply {
        switch (request.method, word) {
        case ("POST", "clients"):
            let body = try decode(ClientBody.self, request)
            apple.register(
                client: body.clientID,
                kind: body.kind ?? .bundle,
                group: body.group,
                teamID: body.teamID
            )
            return try .json(apple.makeKey(teamID: body.teamID), status: 201)
        case ("POST", "sign-ins"):
            let body = try decode(SignInBody.self, request)
            return try .json(
                try apple.signIn(
                    clientID: body.clientID,
                    sub: body.sub,
                    email: body.email,
                    hidesEmail: body.hidesEmail ?? false,
                    nonce: body.nonce,
                    redirectURI: body.redirectURI
                ),
                status: 201
            )
        case ("POST", "stop-using"):
            return try await tell(try decode(PersonBody.self, request)) { apple, body in
                apple.stopUsing(sub: body.sub, clientID: body.clientID)
            }
        case ("POST", "delete-account"):
            return try await tell(try decode(PersonBody.self, request)) { apple, body in
                apple.deleteAccount(sub: body.sub, clientID: body.clientID)
            }
        case ("POST", "forwarding"):
            return try await tell(try decode(PersonBody.self, request)) { apple, body in
                apple.setForwarding(body.isOn ?? true, sub: body.sub, clientID: body.clientID)
            }
        case ("POST", "change-password"):
            let body = try decode(PersonBody.self, request)
            return try done(apple.changePassword(sub: body.sub, clientID: body.clientID))
        case ("POST", "transfers"):
            let body = try decode(TransferBody.self, request)
            guard let team = body.teamID else { return try done(apple.acceptTransfer(of: body.clientID)) }
            guard apple.startTransfer(of: body.clientID, to: team) else { return try done(false) }
            return try .json(apple.makeKey(teamID: team), status: 201)
        case ("POST", "rotate-keys"):
            let body = request.body.isEmpty ? nil : try decode(RotationBody.self, request)
            try apple.rotateKeys(all: body?.all ?? false)
            return Reply(status: 204)
        case ("GET", "consents"):
            return try .json(["live": apple.liveConsents])
        case ("POST", "notifications"):
            let body = try decode(NotificationBody.self, request)
            let statuses = try await notifications.post(
                body.notification(now: clock.now),
                to: body.url,
                copies: body.copies ?? 1,
                forgery: body.forgery
            )
            return try .json(["statuses": statuses])
        default:
            return try problem(404, "no such control request")
        }
    }

    /// Performs a person's action, and notifies the app's server if one is configured.
    private func tell(
        _ body: PersonBody,
        _ act: (AppleSandbox, PersonBody) -> AppleNotification?
    ) async throws -> Reply {
        guard let notification = act(apple, body) else { return try done(false) }
        notifications.enqueue(notification)
        return try done(true)
    }

    /// The answer to a request that changes what Apple knows, if it knows the client and the person.
    private func done(_ isChanged: Bool) throws -> Reply {
        try isChanged ? Reply(status: 204) : problem(404, "nothing to change")
    }

    private func setFault(_ request: ReceivedRequest) throws -> Reply {
        let body = try decode(FaultBody.self, request)
        let id = faults.set(try body.fault(), for: body.endpoint)
        return try .json(["id": id], status: 201)
    }

    private func decode<Body: Decodable>(_ type: Body.Type, _ request: ReceivedRequest) throws -> Body {
        try JSONDecoder().decode(type, from: Data(request.body))
    }

    private func problem(_ status: Int, _ text: String) throws -> Reply {
        try .json(["problem": text], status: status)
    }
}
