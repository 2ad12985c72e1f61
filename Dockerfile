# syntax=docker/dockerfile:1
# Images of the two services: `docker build --target data-service .` and `--target gateway`.
# Untested: written without a Docker daemon at hand. The steps themselves were run one by one outside Docker.

FROM node:24-bookworm-slim AS manifests
WORKDIR /app
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY shared/package.json shared/
COPY shared/patches shared/patches
COPY data-service/package.json data-service/
COPY data-service/patches data-service/patches
COPY gateway/package.json gateway/
COPY test/package.json test/

FROM manifests AS build
RUN npx --yes pnpm@10.34.9 install --frozen-lockfile --filter '!@portico/test'
COPY tsconfig.base.json tsconfig.json ./
COPY shared shared
COPY data-service data-service
COPY gateway gateway
RUN node node_modules/typescript/bin/tsc -b data-service gateway \
  && find . -path '*/dist/*' -name '*.test.*' -not -path '*/node_modules/*' -delete

FROM manifests AS production-dependencies
RUN npx --yes pnpm@10.34.9 install --frozen-lockfile --prod --filter '@portico/data-service...' --filter '@portico/gateway...'

FROM node:24-bookworm-slim AS runtime
ENV NODE_ENV=production DATA_DIR=/data
WORKDIR /app
COPY --from=production-dependencies /app ./
COPY --from=build /app/shared/dist shared/dist
COPY --from=build /app/data-service/dist data-service/dist
COPY --from=build /app/gateway/dist gateway/dist
COPY gateway/public gateway/public
COPY gateway/docs-page gateway/docs-page
RUN mkdir /data && chown node:node /data
USER node

FROM runtime AS data-service
ENV DATA_SERVICE_HOST=0.0.0.0 DATA_SERVICE_PORT=3001
EXPOSE 3001
# A start listens only after its indexes and SCHEMA_FILE, which takes minutes on large collections.
HEALTHCHECK --interval=10s --timeout=5s --start-period=15m --start-interval=1s CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.DATA_SERVICE_PORT + '/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "data-service/dist/main.js"]

FROM runtime AS gateway
ENV HOST=0.0.0.0 PORT=3000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "gateway/dist/main.js"]
