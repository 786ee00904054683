import './tokens.css'
import './base.css'
import './app.css'
import { Unturn } from '@unturn/client'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { keyNow, takeKey } from './lib/key.ts'
import { pressed } from './lib/keys.ts'
import { Mishap } from './parts/mishap.tsx'

const root = document.getElementById('studio')
if (root === null) throw new Error('the page has no place for Studio')
takeKey()
addEventListener('keydown', pressed)
createRoot(root).render(
  <StrictMode>
    <Mishap what="This page">
      <App unturn={new Unturn({ url: location.origin, token: keyNow })} />
    </Mishap>
  </StrictMode>,
)
