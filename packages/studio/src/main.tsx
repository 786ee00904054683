import './tokens.css'
import './base.css'
import './app.css'
import { Unturn } from '@unturn/client'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { takeToken } from './lib/address.ts'
import { pressed } from './lib/keys.ts'

const root = document.getElementById('studio')
if (root === null) throw new Error('the page has no place for Studio')
const token = takeToken()
addEventListener('keydown', pressed)
createRoot(root).render(
  <StrictMode>
    <App unturn={token === undefined ? undefined : new Unturn({ url: location.origin, token })} />
  </StrictMode>,
)
