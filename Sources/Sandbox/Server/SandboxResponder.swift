import Hummingbird
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Handles every request: finds its service, applies a fault, and records the request in the journal.
struct SandboxResponder: HTTPResponder {
    /// What the client finally receives.
    private enum Outcome {
        case reply(Reply)
        case half(Reply)
        case dropped(afterwards: (@Sendable () -> Void)?)
    }

    let clock: SandboxClock
    let faults: Faults
    let journal: RequestJournal
    let apple: AppleEndpoints
    let storage: StorageEndpoints
    let project: ProjectSandbox
    let control: ControlEndpoints

    func respond(to request: Request, context: SandboxContext) async throws -> Response {
        let received = try await ReceivedRequest(request)
        let route = Route(method: received.method, path: received.path)
        guard let endpoint = route.endpoint else { return response(try await withoutFaults(route, received)) }

        let subject = subject(of: route, received)
        let fault = faults.next(for: endpoint, subject: subject, now: clock.now)
        let outcome = try await answer(endpoint, route, received, fault: fault)
        var status: Int?
        var reason: String?
        switch outcome {
        case .reply(let reply), .half(let reply): (status, reason) = (reply.status, reply.reason)
        case .dropped: break
        }
        journal.append(
            RequestJournal.Entry(
                endpoint: endpoint,
                time: clock.now,
                subject: subject,
                status: status,
                reason: reason,
                faulted: fault != nil,
                userAgent: received.header("user-agent")
            )
        )
        switch outcome {
        case .reply(let reply):
            guard reply.missing > 0 else { return response(reply) }
            return cut(reply, after: reply.body.count, channel: context.channel)
        case .half(let reply):
            return cut(reply, after: reply.body.count / 2, channel: context.channel)
        case .dropped(let afterwards):
            try? await context.channel.close()
            afterwards?()
            return Response(status: .internalServerError)
        }
    }

    // MARK: Services

    private func withoutFaults(_ route: Route, _ request: ReceivedRequest) async throws -> Reply {
        switch route {
        case .control(let words): await control.answer(words, request)
        case .wrongMethod: Reply(status: 405)
        case .apple, .storage, .projectAuth, .unknown:
            .text("<html><body><h1>404 Not Found</h1></body></html>", status: 404, contentType: "text/html")
        }
    }

    private func subject(of route: Route, _ request: ReceivedRequest) -> String? {
        switch route {
        case .apple(.form): (try? FormBody(request.body))?["client_id"]
        case .storage(let route): route.bucket
        case .projectAuth(let reference): reference
        case .apple(.keys), .wrongMethod, .control, .unknown: nil
        }
    }

    private func serve(_ route: Route, _ request: ReceivedRequest, carryOut: Bool) async throws -> Reply {
        switch route {
        case .apple(let route): try apple.answer(route, request, carryOut: carryOut)
        case .storage(let route): try await storage.answer(route, request, carryOut: carryOut)
        case .projectAuth(let reference): try project.answer(reference, request, carryOut: carryOut)
        case .wrongMethod, .control, .unknown: try await withoutFaults(route, request)
        }
    }

    // MARK: Faults

    private func answer(
        _ endpoint: Endpoint,
        _ route: Route,
        _ request: ReceivedRequest,
        fault: Fault?
    ) async throws -> Outcome {
        guard let fault else { return .reply(try await serve(route, request, carryOut: true)) }
        var genuine: Reply?
        if fault.effect == .before { genuine = try await serve(route, request, carryOut: true) }
        if fault.delay > .zero { try await Task.sleep(for: fault.delay) }
        await fault.gate?.pass()
        if fault.effect == .after { genuine = try await serve(route, request, carryOut: true) }

        func instead(_ reply: Reply) -> Outcome {
            var reply = reply
            reply.afterwards = genuine?.afterwards
            return .reply(reply)
        }
        switch fault.answer {
        case .genuine:
            if let genuine { return .reply(genuine) }
            return .reply(try await serve(route, request, carryOut: true))
        case .pretendedSuccess:
            return instead(try await serve(route, request, carryOut: false))
        case .truncated:
            if let genuine { return .half(genuine) }
            return .half(try await serve(route, request, carryOut: false))
        case .dropped:
            return .dropped(afterwards: genuine?.afterwards)
        case .emptySuccess:
            return instead(endpoint.emptySuccess)
        case .status(let status, let body, let contentType, let retryAfter):
            var reply = Reply.text(body, status: status, contentType: contentType)
            if contentType.isEmpty { reply.headers = HTTPFields() }
            if let retryAfter { reply.headers[.retryAfter] = retryAfter }
            return instead(reply)
        case .html(let status):
            let page = "<html><head><title>\(status)</title></head><body><center>\(status)</center></body></html>"
            return instead(.text(page, status: status, contentType: "text/html"))
        case .appleError(let code, let description):
            return instead(try AppleEndpoints.errorReply(code: code, description: description, reason: "a fault"))
        case .storageError(let body):
            return instead(try .json(body, status: 400, reason: "a fault"))
        }
    }

    // MARK: Bytes

    private func response(_ reply: Reply) -> Response {
        Response(
            status: HTTPResponse.Status(code: reply.status),
            headers: reply.headers,
            body: ResponseBody(contentLength: reply.body.count) { writer in
                // If the client has gone, the answer is lost, but the request was carried out.
                defer { reply.afterwards?() }
                if !reply.body.isEmpty { try await writer.write(ByteBuffer(bytes: reply.body)) }
                try await writer.finish(nil)
            }
        )
    }

    /// Announces the whole body, sends its start and cuts the connection.
    private func cut(_ reply: Reply, after count: Int, channel: any Channel) -> Response {
        let sent = ByteBuffer(bytes: reply.body.prefix(count))
        return Response(
            status: HTTPResponse.Status(code: reply.status),
            headers: reply.headers,
            body: ResponseBody(contentLength: reply.body.count + reply.missing) { writer in
                defer { reply.afterwards?() }
                try await writer.write(sent)
                try await channel.close()
            }
        )
    }
}
